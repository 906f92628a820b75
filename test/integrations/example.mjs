// The example feed in a headless browser: node example.mjs program url
//
// Prints TAP.  Two tabs are two windows of one user; each post is shown in one of them.

import { startBrowser } from '../../clients/page/browser.mjs';

const [program, url] = process.argv.slice(2);
const failed = [];
let tests = 0;

function ok(right, name) {
    console.log(`${right ? 'ok' : 'not ok'} ${++tests} - ${name}`);
    right || failed.push(name);
}

const shown = (tab) => tab.call(
    () => [...document.querySelectorAll('li')].map((line) => line.dataset.uri));
const text = (tab, selector) => tab.call((s) => document.querySelector(s).textContent, selector);

async function until(tab, action, ...args) {
    for (const end = Date.now() + 180000; Date.now() < end;) {
        if (await tab.call(action, ...args)) {
            return true;
        }
        await new Promise((resolve) => setTimeout(resolve, 50));
    }
    return false;
}

async function open(width) {
    const tab = await startBrowser(program, (method, { exceptionDetails }) => {
        method === 'Runtime.exceptionThrown'
            && ok(false, exceptionDetails.exception?.description ?? exceptionDetails.text);
    });
    await tab.send('Runtime.enable');
    await tab.send('Emulation.setDeviceMetricsOverride',
        { width, height: 800, deviceScaleFactor: 1, mobile: width < 500 });
    await tab.send('Page.navigate', { url });
    ok(await until(tab, () => document.querySelectorAll('li').length >= 10),
        `a page is shown, ${width} px wide`);
    return tab;
}

async function press(tab) {
    for (const type of ['keyDown', 'keyUp']) {
        await tab.send('Input.dispatchKeyEvent',
            { type, key: 'Enter', code: 'Enter', windowsVirtualKeyCode: 13,
            text: type === 'keyDown' ? '\r' : undefined });
    }
}

const tabs = await Promise.all([open(1200), open(390)]);
const [first, second] = tabs;

// without a mouse: the keyboard reaches the button and presses it
for (let i = 0; i < 3; i++) {
    for (const tab of tabs) {
        const before = (await shown(tab)).length;

        await tab.call(() => document.getElementById('more').focus());
        await press(tab);
        ok(await until(tab, (n) => document.querySelectorAll('li').length > n, before),
            'the keyboard brings more');
    }
}
await until(first, () => /excludes/.test(document.getElementById('filter').textContent));
const all = [...await shown(first), ...await shown(second)];
ok(all.length >= 40 && new Set(all).size === all.length,
    `two tabs of a user share ${all.length} posts, none twice`);
ok(all.every((uri) => Number(/\d+$/.exec(uri)) <= 15000),
    'a reader of 5,000 posts gets none of them');
ok(/^Items5,0\d\dBytes[\d,]+Layers\d+$/.test(await text(first, '#figures')),
    'the filter tells its state');
for (const tab of tabs) {
    ok(/excludes \d+ of 14,9\d\d unseen posts: [\d.]+%\. The target rate is 1%\.$/.test(
        await tab.call(() => document.getElementById('filter').innerText)),
    'and what it excludes by mistake, in sight');
}
ok(await first.call(() =>
    document.getElementById('picture').getContext('2d').getImageData(0, 0, 320, 1)
        .data.some((byte) => byte > 0)),
    'and is drawn');

ok(/bloomexp\s*[\d.]+\s*0.*NOT IN.*NOT EXISTS.*no filter\s*[\d.]+\s*10 of 10/s.test(
    (await text(first, '#costs tbody')).replace(/(?<=[a-z])(?=\d)/g, ' ')),
    'what the other ways cost and repeat');
ok(await second.call(() => document.documentElement.scrollWidth <= innerWidth),
    'nothing is wider than 390 px');
const isBeside = () => document.querySelector('main').getBoundingClientRect().left >
    document.querySelector('aside').getBoundingClientRect().right;
ok(await first.call(isBeside) && !await second.call(isBeside),
    'posts are next to the filter on a wide screen, and below it on a narrow one');

// Three, because a filter of what two tabs have shown can have any single post as a false positive.
const again = [];
for (let i = 1; i <= 3; i++) {
    again.push(await first.call(() => {
        const button = document.querySelector('li:not(.again) button');
        button.focus();
        return button.closest('li').dataset.uri;
    }));
    await press(first);
    ok(await until(first, (n) => document.querySelectorAll('li.again').length === n, i),
        'a post is marked as unread');
    ok(await first.call(() => document.activeElement.closest('li.again') !== null),
        'and keeps the focus');
}
const marked = await first.call(() => {
    globalThis.asked = 0;
    globalThis.real = fetch;
    globalThis.fetch = (...request) => { asked++; return real(...request); };
    const button = document.querySelector('li.again button');
    button.click();
    globalThis.fetch = real;
    return [asked, button.ariaDisabled, button.textContent];
});
ok(marked.join() === '0,true,Comes again', 'its button does no more');
await second.send('Page.reload');
ok(await until(second,
    (uris) => uris.some((uri) => document.querySelector(`li[data-uri="${uri}"]`)), again),
    'and comes again');

for (let i = 4; i <= 6; i++) {
    await first.call(() => document.querySelector('li:not(.again) button').click());
    await until(first, (n) => document.querySelectorAll('li.again').length === n, i);
}
ok(await until(first, () => {
    document.getElementById('more').click();
    return [...document.querySelectorAll('li.again')].some((line) =>
        line.lastChild.ariaLabel.startsWith('Came again: ') &&
        document.querySelectorAll(`li[data-uri="${line.dataset.uri}"]`).length === 2);
}), 'what has come again in the same tab says so');

await first.call(() => document.getElementById('night').click());
ok(await until(first, () =>
    /^Rebuilt in [\d,]+ ms\.$/.test(document.getElementById('rebuilt').textContent)),
'all filters are rebuilt');
await first.call(() => {
    const user = document.getElementById('user');
    document.getElementById('more').click(); // a page for the other user is under way
    user.value = 'newcomer';
    user.dispatchEvent(new Event('change'));
});
ok(await until(first, () => document.querySelectorAll('li').length >= 10), 'another user');
ok(await first.call(() => document.querySelector('li').dataset.uri.endsWith('/20000')),
    'who has seen nothing gets the newest');
await first.send('Page.reload');
ok(await until(first, () => document.readyState === 'complete' &&
    /\/199\d\d$/.test(document.querySelector('li')?.dataset.uri)),
'and is kept when the page is loaded again');
ok(await first.call(() => document.getElementById('problem').hidden), 'no error is shown');

await first.call(() => {
    scrollTo(0, 0);
    globalThis.real = fetch;
    globalThis.fetch = () => Promise.reject(new TypeError('no server'));
});
// again and again: an answer from before, which comes late, hides the error
ok(await until(first, () => {
    document.getElementById('more').click();
    document.querySelector('li button').click();
    return !document.getElementById('problem').hidden;
}), 'a server that does not answer is an error');
ok(await first.call(() => document.getElementById('problem').getBoundingClientRect()
    .bottom <= innerHeight),
    'which is in sight');
ok(await first.call(() => document.querySelector('li.again') === null), 'and nothing is marked');
const before = await first.call(() => {
    globalThis.fetch = real;
    document.getElementById('more').click();
    return document.querySelectorAll('li').length;
});
ok(await until(first, (n) => document.querySelectorAll('li').length > n, before), 'which ends');
await Promise.all(tabs.map((tab) => tab.stop()));
console.log(`1..${tests}`);
process.exit(failed.length > 0 ? 1 : 0);
