// What clients/page/run runs, with the name of a browser before its arguments.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startBrowser } from './browser.mjs';

const [program, ...parts] = process.argv.slice(2);
const here = new URL('.', import.meta.url);
const page = new URL('index.html', here).href;
const linesOf = (file) => readFileSync(file, 'utf8').trimEnd().split('\n')
    .map((line) => JSON.parse(line));
const set = linesOf(new URL('../conformance/values.jsonl', here));
const valueOf = (name) => set.find((line) => line.name === name).value;

const requests = [];
const said = [];
let arrived = () => {};
let passed = 0;
let failed = 0;

/** A test: a function that returns complaints. */
async function test(name, action) {
    let complaints;
    try {
        complaints = (await action()) ?? [];
    } catch (error) {
        complaints = [error.stack];
    }
    complaints.forEach((complaint) => console.log(`${name}: ${complaint}`));
    if (complaints.length > 0) {
        failed++;
    } else {
        passed++;
    }
}

function equal(what, value, expected) {
    const [is, should] = [JSON.stringify(value), JSON.stringify(expected)];
    return is === should ? [] : [`${what} is ${is}, not ${should}`];
}

const browser = await startBrowser(program, (method, params) => {
    if (method === 'Network.requestWillBeSent') {
        requests.push(params.request.url);
    } else if (method === 'Page.loadEventFired') {
        arrived();
    } else if (method === 'Runtime.consoleAPICalled' || method === 'Runtime.exceptionThrown'
        || method === 'Log.entryAdded') {
        const { entry, exceptionDetails, args } = params;
        said.push(entry?.text ?? exceptionDetails?.exception?.description ?? JSON.stringify(args));
    }
});
const { call, send } = browser;

async function open(url) {
    const loaded = new Promise((resolve) => { arrived = resolve; });
    await send('Page.navigate', { url });
    await loaded;
}

// What the tests call in the page.
function install() {
    const $ = (id) => document.getElementById(id);
    const pause = () => new Promise((resolve) => { setTimeout(resolve); });
    const fill = (id, value) => {
        $(id).value = value;
        $(id).dispatchEvent(new Event('input'));
    };
    const error = (id) => ($(id).hidden ? null : {
        code: $(id).dataset.code,
        parts: Array.from($(id).children, (part) => part.textContent),
    });
    const bytesOf = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (two) => parseInt(two, 16));
    const drop = async (content, name) => {
        const transfer = new DataTransfer();
        transfer.items.add(new File([content], name));
        document.body.dispatchEvent(
            new DragEvent('drop', { dataTransfer: transfer, bubbles: true, cancelable: true }));
        while (!$('value-note').textContent.startsWith(`${name},`)) {
            await pause();
        }
    };
    const info = () => Object.fromEntries(
        Array.from($('info').rows, (row) => [row.dataset.name, row.cells[1].dataset.value]));
    const list = (id) => Object.fromEntries(Array.from($(id).querySelectorAll('dt'), (name) =>
        [name.textContent, name.nextElementSibling.dataset.value]));
    const ask = (kind, items) => {
        fill('kind', kind);
        fill('items', items.map((item) => `${item}\n`).join(''));
        return {
            error: error('items-error'),
            contains: Array.from($('answers').children, (answer) => answer.dataset.contained)
                .join(''),
            survivors: $('survivors').textContent,
        };
    };
    // bits that the picture says are set, and the rate that the bar does
    const drawn = () => {
        const bits = Array.from(document.querySelectorAll('.strip'), (strip) => {
            let [x, area] = [0, 0];
            for (const [, y, to] of strip.querySelector('path').getAttribute('d')
                .matchAll(/V(\d+)H(\d+)/g)) {
                area += (to - x) * (1 - y / 100);
                x = Number(to);
            }
            return area;
        });
        const bar = Array.from($('rate-bar').querySelectorAll('.part'),
            (part) => Number(part.getAttribute('width')));
        return { bits: bits.reduce((sum, area) => sum + area, 0),
            bar: bar.reduce((sum, part) => sum + part, 0) };
    };
    window.use = { $, fill, error, bytesOf, drop, info, ask, drawn };
}

//
// The conformance set
//

const camelCase = (name) => name.replace(/_(.)/g, (_, letter) => letter.toUpperCase());
const isHex = (value) => /^\\x([0-9a-f]{2})*$/.test(value);
const near = (value, expected, share) => Math.abs(value - expected) <= share * Math.abs(expected);

function compareError(what, shown, error) {
    if (!shown) {
        return [`${what} is accepted`];
    }
    const expected = [`ERROR: ${error.message}`, error.detail].filter(Boolean);
    // of some files a sentence before it says what is probably wrong
    const first = shown.parts.findIndex((part) => part.startsWith('ERROR: '));
    return [
        ...equal(`code of ${what}`, shown.code, error.code),
        ...equal(`error of ${what}`, shown.parts.slice(first, first + expected.length), expected),
    ];
}

function compareInfo(shown, columns) {
    const complaints = [];
    const expected = Object.fromEntries(
        Object.entries(columns).map(([name, value]) => [camelCase(name), String(value)]));
    for (const [name, value] of Object.entries(shown)) {
        if (name !== 'fprNow') {
            complaints.push(...equal(name, value, expected[name]));
        } else if (!near(Number(value), Number(expected.fprNow), 1e-8)) {
            complaints.push(`fprNow is ${value}, not ${expected.fprNow}`);
        }
    }
    return complaints;
}

function compareDrawn(drawn, info) {
    const rate = (drawn.bar / 1000) * Math.max(info.fpr, info.fpr_now);
    return [
        // each part of a bar is rounded to a hundredth
        ...(Math.abs(drawn.bits - info.bits_set) <= 0.005 * info.bits + 1e-6 ? []
            : [`${drawn.bits} of ${info.bits_set} bits are drawn`]),
        ...(near(rate, info.fpr_now, 1e-6) ? [] : [`rate ${rate} of ${info.fpr_now} is drawn`]),
    ];
}

/** A line, pasted and dropped. */
async function checkPage(line) {
    const shown = await call(async (text, isHexText) => {
        use.fill('value', text);
        const pasted = { error: use.error('value-error'), filter: !use.$('filter').hidden,
            info: use.info() };
        use.fill('value', '');
        if (isHexText) {
            await use.drop(use.bytesOf(text.slice(2)), `${Math.random()}`);
            const dropped = { error: use.error('value-error'), filter: !use.$('filter').hidden,
                info: use.info() };
            return { pasted, dropped, drawn: use.drawn() };
        }
        use.fill('value', text);
        return { pasted, drawn: use.drawn() };
    }, line.value, isHex(line.value));
    const ways = [['pasted text', shown.pasted], ['dropped file', shown.dropped]].filter(
        ([, way]) => way);

    if (line.value === '') { // nothing is pasted, so nothing is wrong
        return equal('filter, error', [shown.pasted.filter, shown.pasted.error], [false, null]);
    }
    if (line.error) {
        return ways.flatMap(
            ([name, way]) => [...compareError(name, way.error, line.error),
            ...equal('filter', way.filter, false)]);
    }
    const complaints = ways.flatMap(
        ([name, way]) => [...equal(`error of ${name}`, way.error, null),
        ...compareInfo(way.info, line.info)]);
    complaints.push(...compareDrawn(shown.drawn, line.info));

    // the page takes one text a line
    const asked = line.candidates.map((text, i) => [text, line.contains[i]])
        .filter(([text]) => !text.includes('\n'));
    const survivors = asked.filter(([, answer]) => answer === '0').map(([text]) => text);
    const answer = await call((kind, items) => use.ask(kind, items), line.kind,
        asked.map(([text]) => text));
    complaints.push(...equal('error', answer.error, null),
        ...equal('contains', answer.contains, asked.map(([, one]) => one).join('')),
        ...equal('survivors', answer.survivors, survivors.length > 0 ? survivors.join('\n')
            : 'no rows'));
    for (const { kind, candidate, error } of (line.refuses ?? [])
        .filter((question) => question.kind)) {
        const refused = await call((one, item) => use.ask(one, [item]), kind, candidate);
        complaints.push(...compareError(kind, refused.error, error),
            ...equal('answers', refused.contains, ''));
    }
    return complaints;
}

/** What the reader says of the lines, in the browser: it runs there. */
async function readLines(source, lines) {
    const { parse } = await import(`data:text/javascript;base64,${source}`);
    const bytesOf = (text) => Uint8Array.from(text.slice(2).match(/../g) ?? [],
        (two) => parseInt(two, 16));
    const textOf = (bytes) =>
        `\\x${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
    const item = { integer: BigInt, text: String, uuid: String, bytea: bytesOf };
    return lines.map((line) => {
        try {
            const filter = parse(line.value);
            const items = line.candidates.map((candidate) => item[line.kind](candidate));
            const survivors = filter.exclude(items);
            return {
                text: filter.toString(),
                again: parse(bytesOf(filter.toString())).toString(),
                contains: items.map((one) => (filter.contains(one) ? '1' : '0')).join(''),
                excluded: survivors.length === items.filter((one) => !filter.contains(one)).length,
                packed: line.packed && textOf(filter.excludePacked(bytesOf(line.packed))),
            };
        } catch ({ code, message, detail }) {
            return { error: { code, message, detail } };
        }
    });
}

function compareReading(read, line) {
    if (line.error) {
        const { code, message, detail } = line.error;
        return equal('the reader', read, { error: { code, message, detail } });
    }
    const text = line.text ?? line.value;
    return equal('the reader', read, { text, again: text, contains: line.contains, excluded: true,
        packed: line.packed_survivors });
}

async function checkSet() {
    const source = readFileSync(new URL('../javascript/bloomexp.js', here)).toString('base64');
    const read = await call(readLines, source, set);
    await open(page);
    await call(install);
    for (const [i, line] of set.entries()) {
        await test(line.name,
            async () => [...compareReading(read[i], line), ...(await checkPage(line))]);
    }
}

/** What psql prints: a filter, of several the first, or NULL. */
async function checkPastes(file) {
    await open(page);
    await call(install);
    for (const { name, text, ...expected } of linesOf(file)) {
        await test(name, async () => {
            const { note, ...shown } = await call((pasted) => {
                use.fill('value', pasted);
                return { error: use.error('value-error'), bits: use.$('filter').hidden ? null
                    : use.info().bitsSet, note: use.$('value-note').textContent };
            }, text);
            return [
                ...equal('shown', shown, { error: null, bits: expected.bits }),
                ...(note.startsWith(expected.note) ? [] : [`the note is ${note}`]),
            ];
        });
    }
}

//
// Its use
//

async function press(key, code = key, text = undefined) {
    const keyCode = { Tab: 9, Enter: 13, ' ': 32, ArrowDown: 40 }[key];
    await send('Input.dispatchKeyEvent', { type: text ? 'keyDown'
        : 'rawKeyDown', key, code, text, windowsVirtualKeyCode: keyCode });
    await send('Input.dispatchKeyEvent',
        { type: 'keyUp', key, code, windowsVirtualKeyCode: keyCode });
}

/** Go by Tab to the element with this id or text; returns where the focus was not visible. */
async function tabTo(wanted) {
    const complaints = [];
    for (let i = 0; i < 40; i++) {
        await press('Tab');
        const { name, seen } = await call(() => {
            const focused = document.activeElement;
            const style = getComputedStyle(focused.id === 'file' ? focused.nextElementSibling
                : focused);
            return {
                name: [focused.id, focused.textContent],
                seen: focused === document.body
                || (style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2),
            };
        });
        if (!seen) {
            complaints.push(`the focus on ${name[0] || name[1]} cannot be seen`);
        }
        if (name.includes(wanted)) {
            return complaints;
        }
    }
    return [...complaints, `Tab does not reach ${wanted}`];
}

async function checkKeyboard() {
    const complaints = await tabTo('value');
    await send('Input.insertText', { text: valueOf('agg of 300 text') });
    complaints.push(...equal('kind', await call(() => use.info().kind), 'text'));
    complaints.push(...await tabTo('file'), ...await tabTo('Window'));
    await press(' ', 'Space', ' ');
    complaints.push(...equal(
        'slices', await call(() => [use.info().slices, document.querySelectorAll('.slice').length]),
        ['6', 6]));
    complaints.push(...await tabTo('kind'));
    await press('ArrowDown');
    complaints.push(...equal('error', (await call(() => use.error('items-error'))).parts[0],
        'ERROR: filter holds integer items, not text'));
    await press('ArrowUp');
    complaints.push(...await tabTo('items'));
    await call(() => document.activeElement.select());
    await send('Input.insertText', { text: '{42, 4711}' });
    complaints.push(...equal('answer', await call(() => use.$('answer').textContent),
        '1 of 2 items contained, 1 remains'));
    return complaints;
}

/** Values of every look. */
const looks = ['grown one by one, integer', 'window with blocks', 'counting',
    'by hand: the ends of slices', 'by hand: two layers, one of them full',
    'refused: version 2', 'refused: kind 5'].map(valueOf);

async function checkNarrow() {
    const complaints = [];
    for (const width of [320, 700, 1280]) {
        await send('Emulation.setDeviceMetricsOverride',
            { width, height: 640, deviceScaleFactor: 1, mobile: false });
        for (const value of looks) {
            complaints.push(...await call((text, screen) => {
                use.fill('value', text);
                use.ask('text', ['W'.repeat(300)]);
                const { scrollWidth, clientWidth } = document.documentElement;
                return scrollWidth > clientWidth
                    ? [`${scrollWidth} of ${screen} pixels: ${text.slice(0, 40)}`] : [];
            }, value, width));
        }
    }
    await send('Emulation.clearDeviceMetricsOverride');
    return complaints;
}

/** Text against what is behind it, as WCAG measures: 4.5 to 1. */
function faintTexts() {
    const channels = (color) => color.match(/[\d.]+/g).map(Number);
    const light = ([r, g, b]) => [r, g, b].map((c) => c / 255)
        .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
        .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
    const behind = (element) => {
        const color = channels(getComputedStyle(element).backgroundColor);
        return color[3] === 0 ? behind(element.parentElement) : color;
    };
    const faint = [];
    for (const element of document.body.querySelectorAll('*')) {
        const hasText = Array.from(element.childNodes, (node) => node.nodeType === 3
            && node.textContent.trim()).some(Boolean);
        if ((hasText || element.matches('input, textarea')) && element.checkVisibility()
            && !element.matches('script, style, option')) {
            const [one, other] = [channels(getComputedStyle(element).color), behind(element)].map(
                light);
            const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
            if (contrast < 4.5) {
                faint.push(`${element.tagName} "${element.textContent.slice(0, 30)}" ` +
                    `has a contrast of ${contrast.toFixed(2)}`);
            }
        }
    }
    return faint;
}

async function checkContrast() {
    const complaints = [];
    for (const scheme of ['light', 'dark']) {
        await send('Emulation.setEmulatedMedia', { features: [
            { name: 'prefers-color-scheme', value: scheme },
                { name: 'prefers-reduced-motion', value: 'reduce' }] });
        for (const value of looks) {
            await call((text) => {
                use.fill('value', text);
                use.ask(use.$('kind').value, ['1', '2']);
            }, value);
            complaints.push(...(await call(faintTexts)).map((one) => `${scheme}: ${one}`));
        }
        complaints.push(...equal(
            'scheme', await call(() => getComputedStyle(document.documentElement).backgroundColor),
            scheme === 'dark' ? 'rgb(19, 22, 27)' : 'rgb(245, 244, 240)'));
        complaints.push(...equal(
            'motion', await call(() => getComputedStyle(document.querySelector('button'))
            .transitionDuration), '0s'));
    }
    await send('Emulation.setEmulatedMedia', { features: [] });
    return complaints;
}

async function checkNames() {
    await call((text) => use.fill('value', text), looks[0]);
    const { nodes } = await send('Accessibility.getFullAXTree');
    const roles = nodes.filter((node) => !node.ignored)
        .map((node) => [node.role?.value, node.name?.value ?? '']);
    const controls = roles.filter(
        ([role]) => /^(textbox|button|combobox|link|table|list|image)$/i.test(role));
    return [
        ...controls.filter(([role, name]) => name === '' && role !== 'list')
            .map(([role]) => `a ${role} has no name`),
        ...(controls.length > 12 ? [] : [`only ${controls.length} controls`]),
        ...equal('live parts',
            await call(() => ['value-error', 'items-error', 'answer'].map(
            (id) => use.$(id).getAttribute('role'))),
            ['alert', 'alert', 'status']),
    ];
}

async function checkFiles() {
    const folder = mkdtempSync(join(tmpdir(), 'page-'));
    const { root } = await send('DOM.getDocument');
    const { nodeId } = await send('DOM.querySelector', { nodeId: root.nodeId, selector: '#file' });
    const text = valueOf('agg of 300 uuid');
    const files = {
        'bytes.bin': [Buffer.from(text.slice(2), 'hex'), 'uuid'],
        'text.txt': [`\n${text}\n`, 'uuid'],
        'mark.txt': [`\ufeff${text}`, 'uuid'], // of the byte order
        'value.json': [JSON.stringify(text), 'uuid'],
        'copy.tsv': [`\\${text}\n`, 'uuid'],
        'empty': ['', 'The value is empty.'],
        'rows.csv': [`user_id,items\n42,${text}\n`, 'uuid'],
        'broken.csv': [`user_id,items\n42,${text}g\n`,
            'The text form of a filter is "\\x" and hexadecimal digits; ' +
            'make one with bloom_new().'],
        'picture.png': [Buffer.from('89504e47', 'hex'),
            'The file does not seem to contain a filter.'],
        'filter.txt.gz': [Buffer.from('1f8b0800', 'hex'),
            'The file does not seem to contain a filter.'],
        'filter.sql': ['SELECT items FROM filters WHERE items IS NOT NULL;\n',
            'Paste what the statement returned.'],
    };
    const complaints = [];
    for (const [name, [content, expected]] of Object.entries(files)) {
        writeFileSync(join(folder, name), content);
        await send('DOM.setFileInputFiles', { nodeId, files: [join(folder, name)] });
        complaints.push(...equal(name, await call(async (file) => {
            while (!use.$('value-note').textContent.startsWith(`${file},`)) {
                await new Promise((resolve) => { setTimeout(resolve); });
            }
            await new Promise((resolve) => { setTimeout(resolve); });
            const parts = use.error('value-error')?.parts ?? [use.info().kind];
            // what is probably wrong stands before the error, and a hint behind it
            return parts.at(parts[0].startsWith('ERROR: ') ? -1 : 0);
        }, name), expected));
    }
    rmSync(folder, { recursive: true });
    complaints.push(...equal('a file that cannot be read', await call(async (text) => {
        use.fill('value', text);
        File.prototype.arrayBuffer = () => Promise.reject(new DOMException('', 'NotReadableError'));
        await Promise.race([use.drop('', 'gone'),
            new Promise((resolve) => { setTimeout(resolve, 5000); })]);
        delete File.prototype.arrayBuffer;
        return [use.error('value-error')?.parts, use.$('filter').hidden];
    }, text), [['ERROR: could not read "gone"'], true]));
    return complaints;
}

/** Values in quotes, and items of a wrong form. */
async function checkWords() {
    const asked = await call((values) => {
        const refusals = [];
        use.fill('value', `AQ${'A'.repeat(63)}`);
        refusals.push(use.error('value-error').parts[0]);
        for (const [value, kind, item] of values) {
            use.fill('value', value);
            refusals.push(use.ask(kind, [item]).error?.parts[0] ?? use.$('answer').textContent);
        }
        const quoted = [["'", values[0][0], "'"], ['"\\', values[0][0], '" ']].map((parts) => {
            use.fill('value', parts.join(''));
            return use.error('value-error') ?? use.info().kind;
        });
        return { quoted, refusals };
    }, [
        [valueOf('agg of 300 integer'), 'integer', '1.5'],
        [valueOf('agg of 300 integer'), 'integer', '9223372036854775808'],
        [valueOf('agg of 300 uuid'), 'uuid', 'a0ee'],
        [valueOf('agg of 300 bytea'), 'bytea', '\\xabc'],
        [valueOf('empty'), 'integer', '-9223372036854775808,+1'],
        [valueOf('empty'), 'text', ''],
        [valueOf('empty'), 'uuid', '{A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11}'],
        [valueOf('empty'), 'bytea', '\\x'],
    ]);
    return [
        ...equal('refusals', asked.refusals, [
            'ERROR: invalid input syntax for type bloom',
            'ERROR: invalid input syntax for type bigint: "1.5"',
            'ERROR: value "9223372036854775808" is out of range for type bigint',
            'ERROR: invalid input syntax for type uuid: "a0ee"',
            'ERROR: invalid input syntax for type bytea: "\\xabc"',
            '0 of 2 items contained, 2 remain',
            ...Array(3).fill('0 of 1 item contained, 1 remains'),
        ]),
        ...equal('values in quotes', asked.quoted, ['integer', 'integer']),
    ];
}

/** An item that cannot be read, among others. */
async function checkItems() {
    const { error, contains, answer } = await call((value) => {
        use.fill('value', value);
        const asked = use.ask('integer', ['-1', 'x', '0', '1.5']);
        return { ...asked, answer: use.$('answer').textContent };
    }, valueOf('agg of 300 integer'));
    return [
        ...equal('error', error.parts, ['ERROR: invalid input syntax for type bigint: "x"',
            '1 more item cannot be read.']),
        ...equal('answers', [contains, answer], ['10', '1 of 2 items contained, 1 remains']),
    ];
}

/** Rates in words: those that look alike, and those that are very small. */
async function checkRates() {
    const said = await call((value, little) => {
        const rate = () => [use.$('rate-text').textContent,
            use.$('rate-bar').querySelector('.excess') !== null];
        const withTarget = (share) => {
            use.fill('value', value);
            const target = new DataView(new ArrayBuffer(8));
            target.setFloat64(0, share * use.info().fprNow, true);
            const bytes = [...new Uint8Array(target.buffer)];
            use.fill('value', value.slice(0, 18)
                + bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('')
                + value.slice(34));
            return [rate()[0].replace(/[\d.]+/g, 'N'), rate()[1]];
        };
        const alike = [0.98, 0.99999, 1.00001, 1.02].map(withTarget);
        use.fill('value', little);
        return [...alike, rate(), document.querySelector('.layers .right').textContent];
    }, valueOf('agg of 300 integer'), '\\x01010100000000007b14ae47e17a843f' +
        `0400001c1400000001000000070000007f${'00'.repeat(31)}`);
    return equal('rates', said, [
        ['Current false positive rate: N%, above the target rate of N%', true],
        ['Current false positive rate: N%, the target rate', false],
        ['Current false positive rate: N%, the target rate', false],
        ['Current false positive rate: N%, within the target rate of N%', false],
        ['Current false positive rate: < 0.001%, within the target rate of 1%', false],
        '2.73% setrate < 0.001%',
    ]);
}

async function checkSilence() {
    return [
        ...equal('requests', requests.filter((url) => url !== page && url !== 'about:blank'
            && !url.startsWith('data:')), []),
        ...equal('console', said, []),
        ...equal('stored', await call(
            async () => [localStorage.length, sessionStorage.length, document.cookie,
            (await indexedDB.databases()).length]), [0, 0, '', 0]),
    ];
}

/** The content security policy stops everything that the page itself never does. */
async function checkPolicy() {
    return equal('violations', await call(async () => {
        const violations = new Set();
        document.addEventListener('securitypolicyviolation',
            (event) => violations.add(event.effectiveDirective));
        await fetch('http://127.0.0.1:9/').catch(() => {});
        document.body.append(
            Object.assign(document.createElement('script'),
                { textContent: 'window.broken = true' }),
            Object.assign(document.createElement('img'), { src: 'http://127.0.0.1:9/' }),
            Object.assign(document.createElement('style'), { textContent: 'body { color: red }' }));
        await new Promise((resolve) => { setTimeout(resolve, 50); });
        return [...violations].sort();
    }), ['connect-src', 'img-src', 'script-src-elem', 'style-src-elem']);
}

async function checkUse() {
    await open(page);
    await call(install);
    await test('the keyboard does everything', checkKeyboard);
    await test('no screen is too narrow', checkNarrow);
    await test('text has contrast, nothing moves', checkContrast);
    await test('controls have names', checkNames);
    await test('files', checkFiles);
    await test('what is no item', checkWords);
    await test('what is no item among others', checkItems);
    await test('rates in words', checkRates);
    await test('nothing is requested, said or stored', checkSilence);
    await test('the policy', checkPolicy);
    said.length = 0; // the browser says what the policy stopped
}

try {
    for (const domain of ['Page', 'Runtime', 'Log', 'Network', 'DOM', 'Accessibility']) {
        await send(`${domain}.enable`);
    }
    for (const part of parts) {
        const [name, file] = part.split('=');
        await { set: checkSet, use: checkUse, pastes: checkPastes }[name](file);
    }
    if (said.length > 0) {
        said.forEach((text) => console.log(`the console: ${text}`));
        failed++;
    }
} finally {
    await browser.stop();
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
