// Compares the reader with the server's answers.

import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { BloomError, parse } from './bloomexp.js';

const sets = process.argv.length > 2 ? process.argv.slice(2)
    : [new URL('../conformance/values.jsonl', import.meta.url)];
const bytes = (text) => new Uint8Array(Buffer.from(text.slice(2), 'hex'));
const item = { integer: BigInt, text: String, uuid: String, bytea: bytes };

let complaints = [];

function equal(what, value, expected) {
    if (!isDeepStrictEqual(value, expected)) {
        complaints.push(`${what} is ${String(value)}, not ${String(expected)}`);
    }
}

function fails(what, error, action) {
    try {
        action();
        complaints.push(`${what} is accepted`);
    } catch (raised) {
        equal(`code of ${what}`, raised.code, error.code);
        equal(`message of ${what}`, raised.message, error.message);
        equal(`detail of ${what}`, raised.detail, error.detail);
        equal(`hint of ${what}`, raised.hint, error.hint);
    }
}

// From the names of the columns to ours.
function camelCase(columns) {
    const entries = Object.entries(columns).map(([name, value]) => [
        name.replace(/_(.)/g, (_, letter) => letter.toUpperCase()),
        name === 'window_width' || name === 'expired_before' ? BigInt(value) : value,
    ]);
    return Object.fromEntries(entries);
}

function checkInfo(info, columns) {
    const { fprNow, ...expected } = camelCase(columns);
    const { fprNow: rate, ...rest } = info;
    if (!(Math.abs(rate - fprNow) <= 1e-8 * fprNow)) {
        complaints.push(`fprNow is ${rate}, not ${fprNow}`);
    }
    for (const [name, value] of Object.entries(rest)) {
        equal(name, value, expected[name] ?? null);
    }
}

// A small integer can be a number, too, and integers a BigInt64Array; a large one is none.
function checkIntegers(value, items, contained, survivors) {
    items.forEach((bigint, i) => {
        if (Number.isSafeInteger(Number(bigint))) {
            equal(`contains ${bigint}`, value.contains(Number(bigint)), contained[i]);
        }
    });
    for (const bigint of [2n ** 63n, -(2n ** 63n) - 1n]) {
        fails(bigint, { code: '22003', message: 'bigint out of range' },
            () => value.contains(bigint));
    }
    equal('exclude with null', value.exclude([null, ...items]), survivors);
    equal('exclude of an array', value.exclude(BigInt64Array.from(items)),
        BigInt64Array.from(survivors));
}

// A string is a text or a uuid, whichever the filter holds.
function canAsk(question, kind) {
    return question.kind !== 'uuid' && !(question.kind === 'text' && kind === 'uuid');
}

function checkValue(line) {
    const value = parse(line.value);
    const text = line.text ?? line.value;
    equal('text', value.toString(), text);
    equal('text of the bytes', parse(bytes(text)).toString(), text);
    checkInfo(value.info(), line.info);

    const items = line.candidates.map((candidate) => item[line.kind](candidate));
    const contained = Array.from(line.contains, (answer) => answer === '1');
    const survivors = items.filter((_, i) => !contained[i]);
    equal('contains', items.map((one) => value.contains(one)), contained);
    equal('exclude', value.exclude(items), survivors);
    if (line.kind === 'integer') {
        checkIntegers(value, items, contained, survivors);
    }
    if (line.packed !== undefined) {
        equal('packed survivors', value.excludePacked(bytes(line.packed)),
            bytes(line.packed_survivors));
    }
    for (const question of line.refuses ?? []) {
        if (question.packed !== undefined) {
            fails('packed', question.error, () => value.excludePacked(bytes(question.packed)));
        } else if (canAsk(question, line.kind)) {
            const asked = item[question.kind](question.candidate);
            fails(question.kind, question.error, () => value.contains(asked));
        }
    }
}

function checkRefusal(line) {
    fails('text', line.error, () => parse(line.value));
    if (/^\\x([0-9a-f]{2})*$/.test(line.value)) {
        fails('bytes', line.error, () => parse(bytes(line.value)));
    }
}

function check(line) {
    (line.error ? checkRefusal : checkValue)(line);
}

function isNoType(what, action) {
    try {
        equal(what, action(), undefined);
    } catch (error) {
        equal(`error of ${what}`, error.constructor, TypeError);
    }
}

const empty = parse(null);
for (const single of ['abc', new Uint8Array(3), {}]) {
    isNoType('exclude of one item', () => empty.exclude(single));
}
for (const bytes of [JSON.parse(JSON.stringify(Buffer.from([1, 2]))), new ArrayBuffer(8), [1, 2]]) {
    isNoType('a filter of no bytes', () => parse(bytes));
}
fails('the text form as bytes', {
    code: '22P03',
    message: 'invalid bytes for type bloom',
    detail: 'These bytes are the text form of a filter, not its binary form.',
    hint: 'Decode them: parse(new TextDecoder().decode(value)), or select the column as bytea.',
}, () => parse(new TextEncoder().encode(String(empty))));

// A valid value of 2 MB with 4,095 layers: an item is tested against each of them once.
function checkHostile() {
    const [count, items] = [4095, Array.from({ length: 1000 }, (_, i) => i)];
    const value = new Uint8Array(16 + count * (16 + 512));
    const view = new DataView(value.buffer);
    value.set([1, 1, count & 255, count >> 8]);
    view.setFloat64(8, 0.9, true);
    for (let i = 0; i < count; i++) {
        [64 + 63 * 2 ** 26, 200, 199, 1].forEach((field, j) => view.setUint32(16 * (i + 1)
            + 4 * j, field, true));
        value[16 + 16 * count + 512 * i] = 1;
    }
    const hostile = parse(value);
    const layer = Object.getPrototypeOf(hostile.layers[0]);
    const { probe } = layer;
    let tested = 0;
    layer.probe = function counted(...hash) {
        tested++;
        return probe.apply(this, hash);
    };
    equal('survivors of a hostile value', hostile.exclude(items), items);
    layer.probe = probe;
    equal('tests of layers', tested, count * items.length);
    equal('layers', hostile.info().layers, count);
}
checkHostile();
if (complaints.length > 0) {
    throw new Error(complaints.join('; '));
}

// What the types declare, there is; and info() has no more.
const types = readFileSync(new URL('bloomexp.d.ts', import.meta.url), 'utf8');
const one = parse(null);
const declared = { Info: one.info(), Layer: one.layers[0], Filter: one,
    BloomError: new BloomError('', '') };
for (const [, name, body] of types.matchAll(/^export (?:interface|class) (\w+).*\{$([^}]*)/gm)) {
    const members = Array.from(
        body.matchAll(/^    (?:readonly )?(\w+)\??[:(<]/gm), ([, member]) => member);
    equal(`members of ${name}`, members.filter((member) => !(member in declared[name])), []);
    if (name === 'Info') {
        equal('members of info()', Object.keys(one.info()), members);
    }
    delete declared[name];
}
equal('types', Object.keys(declared), []);
if (complaints.length > 0) {
    throw new Error(`bloomexp.d.ts: ${complaints.join('; ')}`);
}

// Older tools read `main` and `types`, newer ones `exports`.
const { main, types: typesFile, exports } = JSON.parse(
    readFileSync(new URL('package.json', import.meta.url), 'utf8'));
if (!isDeepStrictEqual(exports['.'], { types: typesFile, default: main })) {
    throw new Error('package.json: main and types are not what is exported');
}

if (!isDeepStrictEqual(parse(null).exclude([1, 'a', null, 1]), [1, 'a', 1])
    || parse(undefined).contains(0)) {
    throw new Error('NULL is not an empty filter');
}
let passed = 0;
let failed = 0;
for (const line of sets.flatMap((set) => readFileSync(set, 'utf8').trimEnd().split('\n'))
    .map((text) => JSON.parse(text))) {
    complaints = [];
    try {
        check(line);
    } catch (error) {
        complaints.push(error.stack);
    }
    complaints.forEach((complaint) => console.log(`${line.name}: ${complaint}`));
    if (complaints.length > 0) {
        failed++;
    } else {
        passed++;
    }
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
