// The page: fields in, text and pictures out.

import { BloomError, KINDS, countOnes, fromHex, parse, uuidBytes } from '../javascript/bloomexp.js';
import { examples } from './examples.js';

const SOME_LAYERS = 200;
const SOME_ANSWERS = 500;
const PARTS = 160; // of a layer's picture
const SEEN_BLOCKS = 64; // the most blocks that are drawn with borders
const FOREIGN = 9; // a first byte that is no version of the format

const $ = (id) => document.getElementById(id);
let filter = null;

//
// Making elements
//

/** element('p', { class: 'note' }, text or elements…) */
function element(name, attributes = {}, ...content) {
    const svg = ['svg', 'rect', 'path'].includes(name);
    const made = svg ? document.createElementNS('http://www.w3.org/2000/svg', name)
        : document.createElement(name);
    Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
    made.append(...content);
    return made;
}

function showError(id, error) {
    const box = $(id);
    box.hidden = !error;
    box.replaceChildren();
    if (error) {
        const parts = [`ERROR: ${error.message}`, error.detail, error.hint].filter(Boolean);
        box.append(...parts.map((part) => element('p', {}, part)));
        box.dataset.code = error.code;
    }
}

/** Say in the first line of an error what is probably wrong. */
function explain(sentence) {
    $('value-error').prepend(element('p', {}, sentence));
}

/** Call a function and return its result; after a BloomError, which is shown, return null. */
function attempt(errorId, action) {
    try {
        const result = action();
        showError(errorId, null);
        return result;
    } catch (error) {
        if (!(error instanceof BloomError)) {
            throw error;
        }
        showError(errorId, error);
        return null;
    }
}

//
// Words for numbers
//

const count = (number) => number.toLocaleString('en-US');
const counted = (number, word) => `${count(number)} ${word}${number === 1 ? '' : 's'}`;

/** A share in percent.  Less than 0.001% is not written out, unless the target is less, too. */
function percent(share, target = 1) {
    const least = Math.min(0.00001, target);
    const written = (part) =>
        `${(part * 100).toLocaleString('en-US', { maximumSignificantDigits: 3 })}%`;
    return share === 0 || share >= least ? written(share) : `< ${written(least)}`;
}

/** The current rate and the target rate in words, and whether the first is seen to be higher. */
function rates({ fpr, fprNow }) {
    const [now, target] = [percent(fprNow, fpr), percent(fpr, fpr)];
    return { now, target, above: fprNow > fpr && now !== target };
}

/** A number of bytes: kB are 1,000, as in the documents. */
function size(bytes) {
    const units = ['bytes', 'kB', 'MB', 'GB', 'TB', 'PB'];
    let unit = 0;
    let value = bytes;
    while (Math.round(value) >= 10000 && unit < units.length - 1) {
        value /= 1000;
        unit++;
    }
    return `${count(Math.round(value))} ${units[unit]}`;
}

function duration(microseconds) {
    const days = microseconds / 86400000000n;
    const rest = microseconds % 86400000000n;
    const seconds = rest / 1000000n;
    const two = (number) => String(number).padStart(2, '0');
    const fraction = rest % 1000000n === 0n ? '' : `.${String(rest % 1000000n).padStart(6, '0')}`;
    const time = rest === 0n ? ''
        : `${two(seconds / 3600n)}:${two((seconds / 60n) % 60n)}:${two(seconds % 60n)}${fraction}`;
    return [days > 0n && counted(Number(days), 'day'), time].filter(Boolean).join(' ');
}

/** A time in microseconds since 2000, or null where a Date cannot have it. */
function time(microseconds) {
    const date = new Date(Number(microseconds / 1000n) + Date.UTC(2000, 0, 1));
    return Number.isNaN(date.getTime())
        ? null
        : date.toISOString().replace('T', ' ').replace(/(:00)?\.000Z$/, '').replace('Z', '');
}

//
// Pictures
//

/** How many of the positions in [from, to) are set. */
function setBetween(bits, from, to) {
    if (from % 8 === 0 && to % 8 === 0) {
        return countOnes(bits.subarray(from / 8, to / 8));
    }
    let set = 0;
    for (let position = from; position < to; position++) {
        set += (bits[position >>> 3] >> (position & 7)) & 1;
    }
    return set;
}

/** The outline of the share of positions set, from left to right. */
function outline({ bits, positions }) {
    const width = positions <= PARTS ? 1 : Math.ceil(positions / PARTS / 8) * 8;
    let path = 'M0 100';
    for (let from = 0; from < positions; from += width) {
        const to = Math.min(from + width, positions);
        path += `V${Math.round(100 - (100 * setBetween(bits, from, to)) / (to - from))}H${to}`;
    }
    return `${path}V100Z`;
}

function strip(layer, widest) {
    const { positions, blocks, blockBits } = layer;
    const picture = element('svg', {
        class: 'strip',
        width: `${(100 * positions) / widest}%`,
        viewBox: `0 0 ${positions} 100`,
        preserveAspectRatio: 'none',
        'shape-rendering': 'crispEdges',
        'aria-hidden': 'true', // the text beside it says the same
    }, element('rect', { class: 'track', width: positions, height: 100 }),
    element('path', { class: 'set', d: outline(layer) }));
    for (let block = 1; block < blocks && blocks <= SEEN_BLOCKS; block++) {
        picture.append(element(
            'rect', { class: 'border', x: block * blockBits, width: positions / 600,
            height: 100 }));
    }
    return picture;
}

function layerRow(layer, number, widest, word) {
    const { positions, hashes, blocks, blockBits } = layer;
    const shape = `${counted(positions, word)}, ${hashes === 1 ? '1 hash' : `${hashes} hashes`}`;
    return element('li', {},
        element('div', {},
            element('p', {}, element('strong', {}, `Layer ${count(number)}`)),
            element('p', {}, `${count(layer.items)} of ${counted(layer.capacity, 'item')}`)),
        element('div', { class: 'picture' },
            strip(layer, widest),
            element('p', { class: 'muted' },
                blocks > 1 ? `${shape}, in ${count(blocks)} blocks of ${counted(blockBits, word)}`
                    : shape)),
        element('div', { class: 'right' },
            element('p', {}, `${percent(layer.bitsSet / positions)} set`),
            element('p', { class: 'muted' }, `rate ${percent(layer.rateNow(), filter.fpr)}`)));
}

function sliceTitle(slice, width) {
    const [from, to] = [time(slice * width), time((slice + 1n) * width)];
    return element('p', { class: 'slice' },
        `Slice ${slice}`,
        from && to ? element('span', { class: 'muted' }, ', ', element('time', {}, from), ' to ',
            element('time', {}, to), ' UTC') : '');
}

function showLayers(info) {
    const { layers } = filter;
    const width = info.slices
        && (info.windowWidth + BigInt(info.slices) - 1n) / BigInt(info.slices);
    const widest = layers.reduce((most, layer) => Math.max(most, layer.positions), 0);
    const parts = [];
    let list;
    layers.slice(0, SOME_LAYERS).forEach((layer, i) => {
        if (i === 0 || layer.slice !== layers[i - 1].slice) {
            list = element('ol', { class: 'layers', start: i + 1 });
            parts.push(...(width ? [sliceTitle(layer.slice, width)] : []), list);
        }
        list.append(layerRow(layer, i + 1, widest, info.counting ? 'counter' : 'bit'));
    });
    if (layers.length === 0) {
        parts.push(element('p', {}, 'There are no layers, because no slice has items.'));
    } else if (layers.length > SOME_LAYERS) {
        parts.push(element('p', { class: 'muted' },
            `And ${counted(layers.length - SOME_LAYERS, 'more layer')}.`));
    }
    $('layers').replaceChildren(...parts);
}

/** What each layer has of the rate now, beside the promise. */
function showRate(info) {
    const whole = Math.max(info.fpr, info.fprNow);
    const scale = 1000 / whole;
    const { now, target, above } = rates(info);
    const layerRates = filter.layers.slice(-SOME_LAYERS).map((layer) => layer.rateNow());
    const sum = layerRates.reduce((total, rate) => total + rate, 0);
    const parts = [element('rect', { class: 'track', width: 1000, height: 10 })];
    let at = 0;
    for (const rate of layerRates.filter((one) => one > 0)) {
        const width = (rate / sum) * info.fprNow * scale;
        parts.push(element('rect', { class: 'part', x: at, width, height: 10 }));
        at += width;
    }
    if (above) {
        const promise = info.fpr * scale;
        parts.push(element('rect',
            { class: 'excess', x: promise, width: 1000 - promise, height: 10 }),
            element('rect', { class: 'promise', x: Math.max(0, promise - 2),
                width: 4, height: 10 }));
    }
    $('rate-bar').replaceChildren(...parts);
    $('rate-text').textContent = `Current false positive rate: ${now}, ` +
        (now === target ? 'the target rate'
            : `${above ? 'above' : 'within'} the target rate of ${target}`) +
        (layerRates.length > 1 ? '; by layer' : '');
}

//
// The filter
//

function tagsOf(info) {
    const blocked = filter.layers.some((layer) => layer.blocks > 1);
    return [
        info.windowWidth !== null
        && `window of ${duration(info.windowWidth)} in ${counted(info.slices, 'slice')}`,
        info.counting && 'counting, 4 bits a counter',
        info.windowWidth === null && info.layers > 1 && 'grown',
        blocked && 'blocked',
    ].filter(Boolean);
}

function showFigures(info) {
    const figures = [
        ['Items', count(info.items), `of ${count(info.capacity)}`],
        ['Bits set', percent(info.fill), `of ${count(info.bits)}`],
        ['False positives', rates(info).now, `target ${rates(info).target}`],
        ['Bytes stored', count(info.bytes), info.bytes >= 10000 ? size(info.bytes)
            : counted(info.layers, 'layer')],
    ];
    $('figures').replaceChildren(...figures.map(([name, large, small]) => element('div', {},
        element('dt', {}, name),
        element('dd', { class: 'large' }, large),
        element('dd', { class: 'muted' }, small))));
}

function showInfo(info) {
    const words = { windowWidth: duration, expiredBefore: (at) => `${time(at) ?? at} UTC`,
        fpr: () => rates(info).target, fprNow: () => rates(info).now, fill: percent };
    $('info').replaceChildren(...Object.entries(info).map(([name, value]) => {
        const column = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
        const word = words[name] ?? ((other) => (typeof other === 'number' ? count(other)
            : String(other)));
        return element('tr', { 'data-name': name },
            element('th', { scope: 'row' }, element('code', {}, column)),
            value === null
                ? element('td', { class: 'muted' }, 'NULL')
                : element('td', { 'data-value': String(value) }, word(value)));
    }));
}

function showFilter() {
    $('filter').hidden = !filter;
    if (!filter) {
        return;
    }
    const info = filter.info();
    const layers = counted(info.layers, 'layer');
    $('filter-title').textContent = info.kind
        ? `${info.kind[0].toUpperCase()}${info.kind.slice(1)} items in ${layers}`
        : `No items yet, ${layers}`;
    $('tags').replaceChildren(...tagsOf(info).map((tag) => element('li', {}, tag)));
    showFigures(info);
    showRate(info);
    showLayers(info);
    showInfo(info);
    if (info.kind && info.kind !== $('kind').value) {
        $('kind').value = info.kind;
        $('items').value = '';
    }
    askItems();
}

/** Show the first of some values, its text form or its bytes, of a file or an example. */
function setValue([value, ...others],
    { note = 'You can also drop a file here, with the text form or the bytes.', sql } = {}) {
    const statement = typeof value === 'string' && isStatement(value);
    const none = typeof value === 'string' && !statement && isNull(value);
    const nothing = none || value.length === 0;
    filter = attempt('value-error', () => (nothing ? null : parse(value)));
    if (statement && !filter) {
        explain('Paste what the statement returned.');
    }
    $('value').setAttribute('aria-invalid', String(!nothing && !filter));
    $('value-note').textContent = none ? `NULL is no filter: every item is unseen. ${note}` :
        others.length > 0 ? `${others.length + 1} filters found; this is the first. ${note}` : note;
    $('made').hidden = !sql;
    $('made-by').textContent = sql ?? '';
    $('examples').querySelectorAll('button').forEach((button, i) =>
        button.setAttribute('aria-pressed', String(sql !== undefined && examples[i].sql === sql)));
    showFilter();
}

/** The value in a text: JSON and others put it into quotes, JSON and COPY double its backslash. */
const bare = (text) => text.trim().replace(/^(['"])(.*)\1$/s, '$2').replace(/^\\\\/, '\\');

/**
 * The bytes of a base64 text, or what is none.  encode() breaks its lines, and psql marks these
 * breaks.
 */
const BREAK = String.raw`\+? *(?:\|[^\n]*)?(?:\\n|\r?\n)[ |]*`;
function fromBase64(text) {
    try {
        return Uint8Array.from(atob(text.replace(new RegExp(BREAK, 'g'), '')),
            (byte) => byte.charCodeAt(0));
    } catch {
        return text;
    }
}

/** The bytes of a bytea in the format "escape". */
const fromEscape = (text) => Uint8Array.from(text.match(/\\\d{3}|\\\\|./g),
    (byte) => (byte.length === 4 ? parseInt(byte.slice(1), 8) : byte.charCodeAt(0)));

/**
 * The forms of a filter in rows of psql, CSV, JSON and others, none of which has less than 40
 * bytes.
 */
const FORMS = [
    [/\\x01[0-9a-f]{78,}(?=$|[\s"',;|)\]}<])/gi, (text) => text],
    [new RegExp(`\\bAQ(?:@{74}(?:${BREAK}@{76})*${BREAK}@{1,76}|@{52,})={0,2}`.replaceAll(
        '@', '[A-Za-z0-9+/]'), 'g'), fromBase64],
    [/\\001\\00[01](?:\\[0-7]{3}|\\\\|[ -[\]-~]){38,}?(?=(?: +\|(?: .*)?)?\s*$)/gm, fromEscape],
];

/** The filters in a text, or all of it. */
function valuesIn(text) {
    // psql's format "wrapped" marks by a dot that a line goes on
    const whole = text.replace(
        /(?<=[0-9a-f])[.…](?![0-9a-f])[^\n]*\n[ |│]*[.…](?=[0-9a-f])/gi, '');
    const found = FORMS.map(([form, read]) => (whole.match(form) ?? []).map(read))
        .find((values) => values.length > 0);
    return found ?? [bare(text)];
}

/** NULL: as COPY and JSON write it, or psql's table in which nothing long stands. */
const isNull = (text) => !/\w{40}/.test(text) &&
    (/(^|[\s|,:"[])(\\N|null)($|[\s|,"\]}])/i.test(text)
        || /^(\(\d+ rows?\)|-\[ RECORD .*)$/m.test(text));

/** A statement of SQL, without the rows that it returned. */
const isStatement = (text) => /^(select|with|table|values|copy|insert|update|create)\s/i.test(text)
    && !/^(\(\d+ rows?\)|-\[ RECORD .*)$/m.test(text);

/** The text of a file, or null if it has none: bytes of a value begin with their version. */
function textOf(bytes) {
    try {
        return bytes[0] < FOREIGN ? null : new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    } catch {
        return null;
    }
}

async function readFile(file) {
    const read = await file.arrayBuffer().catch(() => null); // a folder, or one that is gone
    const bytes = new Uint8Array(read ?? []);
    const text = textOf(bytes);
    $('value').value = '';
    setValue(text === null ? [bytes]
        : valuesIn(text), { note: `${file.name}, ${counted(file.size, 'byte')}` });
    if (text === null && bytes[0] >= FOREIGN && !filter) {
        explain('The file does not seem to contain a filter.');
    }
    if (!read) {
        showError('value-error', new BloomError('58030', `could not read "${file.name}"`));
    } else if (bytes.length === 0) {
        showError('value-error', new BloomError('22P03', 'invalid bytes for type bloom',
            'The value is empty.'));
    }
}

//
// Items
//

function syntaxError(kind, text, hint) {
    return new BloomError('22P02', `invalid input syntax for type ${kind}: "${text}"`,
        undefined, hint);
}

/** What the reader takes for an item, from its text; the filter holds a kind, or null. */
const readItem = {
    integer(text) {
        if (!/^[+-]?\d+$/.test(text)) {
            throw syntaxError('bigint', text);
        }
        const item = BigInt(text);
        if (BigInt.asIntN(64, item) !== item) {
            throw new BloomError('22003', `value "${text}" is out of range for type bigint`);
        }
        return item;
    },
    text: (text) => text,
    // a string is a text, unless the filter has uuids
    uuid: (text, held) => (held === 'uuid' ? text : uuidBytes(text)),
    bytea(text) {
        if (!/^\\x([0-9a-f]{2})*$/i.test(text)) {
            throw syntaxError('bytea', text, 'Write \\x and pairs of hexadecimal digits.');
        }
        return fromHex(text.slice(2));
    },
};

const NOTES = {
    integer: 'Separated by blanks, commas or line breaks.',
    text: 'One per line; blanks count.',
    uuid: 'Separated by blanks, commas or line breaks.',
    bytea: 'As \\x and hexadecimal digits, separated by blanks, commas or line breaks.',
};

function splitItems(kind, text) {
    if (kind !== 'text') {
        return text.split(/[\s,;{}[\]"']+/).filter(Boolean);
    }
    return text === '' ? [] : text.replace(/\n$/, '').split('\n');
}

/** An answer for each item, and an error for each text that is none. */
function ask(kind, texts) {
    const [answers, errors] = [[], []];
    const held = filter.info().kind;

    if (texts.length > 0) {
        filter.requireKind(KINDS.indexOf(kind));
    }
    for (const text of texts) {
        try {
            answers.push({ text, contained: filter.contains(readItem[kind](text, held)) });
        } catch (error) {
            if (!(error instanceof BloomError)) {
                throw error;
            }
            errors.push(error);
        }
    }
    return { answers, errors };
}

function askItems() {
    if (!filter) {
        return;
    }
    const kind = $('kind').value;
    const texts = splitItems(kind, $('items').value);
    $('items-note').textContent = NOTES[kind];
    const { answers, errors } = attempt('items-error', () => ask(kind, texts))
        ?? { answers: [], errors: [] };
    const survivors = answers.filter(({ contained }) => !contained);

    if (errors.length > 0) {
        showError('items-error', errors[0]);
    }
    if (errors.length > 1) {
        $('items-error').append(element('p', {},
            `${counted(errors.length - 1, 'more item')} cannot be read.`));
    }
    $('items').setAttribute('aria-invalid', String(!$('items-error').hidden));
    $('answer').textContent = answers.length === 0 ? '' :
        `${count(answers.length - survivors.length)} of ${counted(answers.length, 'item')} ` +
        'contained, ' +
        `${survivors.length === 1 ? '1 remains' : `${count(survivors.length)} remain`}`;
    $('answers').replaceChildren(...answers.slice(0, SOME_ANSWERS).map(
        ({ text, contained }) => element('li',
        { 'data-contained': contained ? '1' : '0' },
        element('code', {}, text),
        element('span', { class: contained ? 'in' : 'out' }, contained ? '✕ contained'
            : '✓ remains'))));
    if (answers.length > SOME_ANSWERS) {
        $('answers').append(element('li', {}, `and ${count(answers.length - SOME_ANSWERS)} more`));
    }
    $('survivors-part').hidden = answers.length === 0;
    $('survivors').textContent = survivors.length > 0 ? survivors.map(({ text }) => text).join('\n')
        : 'no rows';
}

//
// Events
//

function listen(ids, action) {
    ids.forEach((id) => $(id).addEventListener('input', action));
}

$('examples').append(...examples.map((example) => {
    const button = element('button', { type: 'button', 'aria-pressed': 'false' }, example.name);
    button.addEventListener('click', () => {
        $('value').value = example.value;
        $('kind').value = example.kind;
        $('items').value = example.items.join('\n');
        setValue([example.value], example);
    });
    return button;
}));
listen(['value'], () => setValue(valuesIn($('value').value)));
listen(['items', 'kind'], askItems);

$('file').addEventListener('change', () => {
    if ($('file').files.length > 0) {
        readFile($('file').files[0]);
        $('file').value = ''; // the same file can be chosen again
    }
});
const target = $('value-part');
const dropping = (is) => target.classList.toggle('dropping', is);
document.addEventListener('dragover', (event) => {
    if (event.dataTransfer.types.includes('Files')) {
        event.preventDefault(); // or the browser leaves the page for the file
        dropping(true);
    }
});
document.addEventListener('dragleave', (event) => dropping(event.relatedTarget !== null));
document.addEventListener('drop', (event) => {
    dropping(false);
    if (event.dataTransfer.files.length > 0) {
        event.preventDefault();
        readFile(event.dataTransfer.files[0]);
    }
});
