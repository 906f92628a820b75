// A headless Chromium by its DevTools protocol, over a pipe: no library is needed.

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Start a browser; `events` is called with the method and parameters of each event. */
export async function startBrowser(program, events) {
    const profile = mkdtempSync(join(tmpdir(), 'page-'));
    const browser = spawn(
        program, ['--headless=new', '--no-sandbox', '--disable-gpu', '--no-first-run',
        '--disable-dev-shm-usage',
        '--remote-debugging-pipe', `--user-data-dir=${profile}`, 'about:blank'],
    { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
    const [, , , input, output] = browser.stdio;
    const waiting = new Map();
    let last = 0;
    let session;
    let received = '';

    const ended = new Promise((resolve) => {
        browser.on('error', resolve);
        browser.on('exit', () => resolve(new Error('the browser ended')));
    });
    ended.then((error) => waiting.forEach(({ reject }) => reject(error)));
    input.on('error', () => {}); // as the browser ends

    function receive(text) {
        const { id, method, params, result, error } = JSON.parse(text);
        if (id === undefined) {
            events(method, params);
        } else {
            const { resolve, reject } = waiting.get(id);
            waiting.delete(id);
            error ? reject(new Error(error.message)) : resolve(result);
        }
    }
    output.setEncoding('utf8').on('data', (data) => {
        const messages = (received + data).split('\0');
        received = messages.pop();
        messages.forEach(receive);
    });

    function send(method, params = {}, sessionId = session) {
        const id = ++last;
        const message = { id, method, params, sessionId: sessionId ?? undefined };
        input.write(`${JSON.stringify(message)}\0`);
        return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
    }

    /** Call a function in the page, with arguments that JSON has. */
    async function call(action, ...args) {
        const { result, exceptionDetails } = await send('Runtime.evaluate', {
            expression: `(${action})(...${JSON.stringify(args)})`, returnByValue: true,
                awaitPromise: true,
        });
        if (exceptionDetails) {
            throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
        }
        return result.value;
    }

    async function stop() {
        const timer = setTimeout(() => browser.kill('SIGKILL'), 10000);
        send('Browser.close', {}, null).catch(() => {});
        await ended;
        clearTimeout(timer);
        rmSync(profile, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
    }

    try {
        const { targetId } = await send('Target.createTarget', { url: 'about:blank' });
        ({ sessionId: session } = await send('Target.attachToTarget', { targetId, flatten: true }));
    } catch (error) {
        await stop();
        throw error;
    }
    return { send, call, stop };
}
