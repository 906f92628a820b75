// The feed in a browser: node server.js [port]

import { readFile } from 'node:fs/promises';
import http from 'node:http';
import { compare, filterOf, markUnread, night, takePage } from './feed.js';

const WANTED = 10;
const here = (path) => new URL(path, import.meta.url);
const FILES = {
    '/': [here('index.html'), 'text/html'],
    '/bloomexp.js': [here('../../clients/javascript/bloomexp.js'), 'text/javascript'],
};

/** What a POST may ask for. */
const ACTIONS = {
    // compared first, because taking a page changes what was seen
    '/page': async ({ user }) => ({ ...await compare(user, WANTED), posts: await takePage(user, WANTED) }),
    '/unread': ({ user, id }) => markUnread(user, id),
    '/night': () => night(),
    '/filter': ({ user }) => filterOf(user),
};

async function bodyOf(request) {
    let body = '';

    for await (const part of request) {
        body += part;
        if (body.length > 10000) {
            throw new RangeError('the request is too long');
        }
    }
    const { user, id } = JSON.parse(body || '{}');
    return { user: String(user), id: Number(id) };
}

async function answer(request, response) {
    const file = request.method === 'GET' && FILES[request.url];
    const action = request.method === 'POST' && ACTIONS[request.url];

    if (file) {
        response.setHeader('Content-Type', `${file[1]}; charset=utf-8`);
        response.end(await readFile(file[0]));
    } else if (action) {
        const result = await action(await bodyOf(request));
        response.setHeader('Content-Type', 'application/json');
        response.end(JSON.stringify(result ?? {}));
    } else {
        response.writeHead(404).end();
    }
}

const server = http.createServer((request, response) => {
    answer(request, response).catch((error) => {
        console.error(error);
        response.writeHead(500).end();
    });
});
server.listen(Number(process.argv[2] ?? 8042), '127.0.0.1',
    () => console.log(`open http://127.0.0.1:${server.address().port}/`));
