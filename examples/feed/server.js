// The feed in a browser: node server.js [port]

import { readFile } from 'node:fs/promises';
import { compare, filterOf, markUnread, night, takePage } from './feed.js';
import { bodyOf, invalid, serve } from './http.js';

const WANTED = 10;
const file = (path, type) => async () =>
    [`${type}; charset=utf-8`, await readFile(new URL(path, import.meta.url))];

/** A method that gets the user and the post of a request. */
const action = (act) => async (request) => {
    const { user, uri = 'none' } = await bodyOf(request, 10000);

    if (![user, uri].every((text) => typeof text === 'string' && /^[^\0]{1,100}$/.test(text))) {
        throw invalid('a user or a post is not a text');
    }
    return await act(user, uri) ?? {};
};

serve(process.argv[2] ?? 8042, {
    'GET /': file('index.html', 'text/html'),
    'GET /page.css': file('../../clients/page/page.css', 'text/css'),
    'GET /bloomexp.js': file('../../clients/javascript/bloomexp.js', 'text/javascript'),

    // compared first, because taking a page changes what was seen
    'POST /page': action(
        async (user) => ({ ...await compare(user, WANTED), posts: await takePage(user, WANTED) })),
    'POST /unread': action(async (user, uri) => { await markUnread(user, uri); }),
    'POST /night': action(async () => ({ milliseconds: await night() })),
    'POST /filter': action((user) => filterOf(user)),
});
