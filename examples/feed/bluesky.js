// A feed generator for Bluesky: node bluesky.js [port] [host name]
//
// It answers app.bsky.feed.getFeedSkeleton with posts that the viewer has not seen, and
// records app.bsky.feed.sendInteractions: what clients report as seen.

import http from 'node:http';
import { record, unseen } from './feed.js';

const host = process.argv[3] ?? 'feed.example.com';
const did = `did:web:${host}`;
const feed = `at://${did}/app.bsky.feed.generator/unseen`;

const refused = (status, name, message) => Object.assign(new Error(message), { status, name });
const invalid = (name, message) => refused(400, name, message);

/**
 * The user of a request, by the token that Bluesky signs for it.
 *
 * A service on the Internet must verify the signature with the key of the user's DID
 * document, for example by @atproto/xrpc-server.  This example does not.
 */
function userOf(request) {
    const [, claims] = (request.headers.authorization ?? '').replace(/^Bearer /, '').split('.');
    const { iss } = parse(Buffer.from(claims ?? '', 'base64url').toString() || '{}');

    if (typeof iss !== 'string') {
        throw refused(401, 'AuthenticationRequired', 'a token of the user is missing');
    }
    return iss;
}

function parse(text) {
    try {
        return JSON.parse(text);
    } catch {
        throw invalid('InvalidRequest', 'this is not JSON');
    }
}

const idOf = (uri) => Number(/\/app\.bsky\.feed\.post\/(\d+)$/.exec(uri)?.[1]);

async function bodyOf(request) {
    let body = '';

    for await (const part of request) {
        body += part;
        if (body.length > 100000) {
            throw refused(413, 'PayloadTooLarge', 'the request is too long');
        }
    }
    return parse(body);
}

const METHODS = {
    'GET /.well-known/did.json': () => ({
        '@context': ['https://www.w3.org/ns/did/v1'],
        id: did,
        service: [{ id: '#bsky_fg', type: 'BskyFeedGenerator', serviceEndpoint: `https://${host}` }],
    }),

    'GET /xrpc/app.bsky.feed.describeFeedGenerator': () => ({ did, feeds: [{ uri: feed }] }),

    // Nothing is recorded here, because a client may fetch more than it displays.  The
    // cursor is the last post of the page before.
    'GET /xrpc/app.bsky.feed.getFeedSkeleton': async (request, parameters) => {
        const limit = Math.min(Math.max(Number(parameters.get('limit') ?? 50), 1), 100);
        const cursor = parameters.get('cursor') ?? undefined;

        if (parameters.get('feed') !== feed) {
            throw invalid('UnknownFeed', 'there is no such feed');
        }
        if (!Number.isInteger(limit) || (cursor !== undefined && !/^\d{1,15}$/.test(cursor))) {
            throw invalid('InvalidRequest', 'limit or cursor is not a number');
        }
        const posts = await unseen(userOf(request), limit, cursor);
        return { cursor: posts.length === limit ? String(posts.at(-1).id) : undefined, feed: posts.map(({ uri }) => ({ post: uri })) };
    },

    'POST /xrpc/app.bsky.feed.sendInteractions': async (request) => {
        const user = userOf(request);
        const { interactions } = await bodyOf(request);
        if (!Array.isArray(interactions)) {
            throw invalid('InvalidRequest', 'interactions are missing');
        }
        const ids = interactions.filter(({ event }) => event === 'app.bsky.feed.defs#interactionSeen')
            .map(({ item }) => idOf(item)).filter(Number.isSafeInteger);

        if (ids.length > 0) {
            await record(user, ids);
        }
        return {};
    },
};

http.createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url, 'http://localhost');
    const method = METHODS[`${request.method} ${pathname}`];
    let status = 200;
    let result;

    try {
        if (!method) {
            throw refused(404, 'MethodNotImplemented', 'there is no such method');
        }
        result = await method(request, searchParams);
    } catch (error) {
        status = error.status ?? 500;
        result = error.status ? { error: error.name, message: error.message } : { error: 'InternalServerError' };
        if (!error.status) {
            console.error(error);
        }
    }
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(result));
}).listen(Number(process.argv[2] ?? 8043), '127.0.0.1', function listening() {
    console.log(`answers at http://127.0.0.1:${this.address().port}/`);
});
