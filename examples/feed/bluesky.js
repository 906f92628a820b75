// A feed generator for Bluesky: node bluesky.js [port] [host name] [publisher's DID]
//
// It answers app.bsky.feed.getFeedSkeleton with posts that the viewer has not seen, and
// remembers app.bsky.feed.sendInteractions: what clients report as seen.  The filters of the
// feed "reported" are all that it keeps of a reader.  The publisher is the account that has
// the record of the feed.

import { report, unreported } from './feed.js';
import { bodyOf, invalid, objectOf, refused, serve } from './http.js';

const [port = 8043, host = 'feed.example.com', publisher = 'did:example:publisher'] =
    process.argv.slice(2);
const did = `did:web:${host}`;
const feed = `at://${publisher}/app.bsky.feed.generator/unseen`;

/**
 * The user of a request, by the token that Bluesky signs for it.
 *
 * Old tokens are refused, and those for other services and methods.  Forged ones are not:
 * until the signature is verified with the key of the user's DID document, for example by
 * @atproto/xrpc-server, anybody can read and fill the memory of every user.  So a service on
 * the Internet must verify it.
 */
function userOf(request) {
    const { authorization } = request.headers;
    const [, claims = ''] = /^Bearer [\w-]+\.([\w-]+)\.[\w-]+$/.exec(authorization) ?? [];
    const { iss, aud, exp, lxm } = objectOf(Buffer.from(claims, 'base64url').toString()) ?? {};

    if (!(typeof iss === 'string' && /^did:[a-z]+:[\w.:%-]{1,2000}$/.test(iss))) {
        throw refused(401, 'AuthenticationRequired', 'a token of the user is missing');
    }
    if (aud !== did || request.url.split('?')[0] !== `/xrpc/${lxm}`) {
        throw refused(401, 'AuthenticationRequired', 'the token is for another service or method');
    }
    if (!(exp * 1000 > Date.now())) {
        throw refused(401, 'AuthenticationRequired', 'the token has expired');
    }
    return iss;
}

const isPost = (uri) =>
    /^at:\/\/[\w.:%-]{1,2000}\/app\.bsky\.feed\.post\/[\w.:~-]{1,512}$/.test(uri);

const isInteraction = (one) => typeof one === 'object' && one !== null &&
    ['item', 'event'].every((field) => one[field] === undefined || typeof one[field] === 'string');

serve(port, {
    'GET /.well-known/did.json': () => ({
        '@context': ['https://www.w3.org/ns/did/v1'],
        id: did,
        service: [
            { id: '#bsky_fg', type: 'BskyFeedGenerator', serviceEndpoint: `https://${host}` },
        ],
    }),

    'GET /xrpc/app.bsky.feed.describeFeedGenerator': () => ({ did, feeds: [{ uri: feed }] }),

    // Nothing is recorded here, because a client may fetch more than it displays.  The
    // cursor has the time and the uri of the last post of the page before.
    'GET /xrpc/app.bsky.feed.getFeedSkeleton': async (request, parameters) => {
        const user = userOf(request);
        const limit = parameters.get('limit') ?? '50';
        const cursor = parameters.get('cursor');
        const [, time, last] = /^(\d{1,16})::(.*)$/.exec(cursor) ?? [];

        if (!/^at:\/\/\S+$/.test(parameters.get('feed') ?? '')) {
            throw invalid('feed is not an at-uri');
        }
        if (parameters.get('feed') !== feed) {
            throw refused(400, 'UnknownFeed', 'there is no such feed');
        }
        if (!/^([1-9]\d?|100)$/.test(limit)) {
            throw invalid('limit is not between 1 and 100');
        }
        if (cursor !== null && !isPost(last)) {
            throw invalid('cursor is not of this feed');
        }
        const place = cursor === null ? undefined : [time, last];
        const posts = await unreported(user, Number(limit), place);
        const end = posts.length === Number(limit) ? posts.at(-1) : undefined;
        return { cursor: end && `${end.time}::${end.uri}`,
            feed: posts.map(({ uri }) => ({ post: uri })) };
    },

    'POST /xrpc/app.bsky.feed.sendInteractions': async (request) => {
        const user = userOf(request);
        const { interactions } = await bodyOf(request, 100000);

        if (!Array.isArray(interactions) || !interactions.every(isInteraction)) {
            throw invalid('interactions are missing or of another form');
        }
        const uris = interactions
            .filter(({ event }) => event === 'app.bsky.feed.defs#interactionSeen')
            .map(({ item }) => item).filter(isPost);

        if (uris.length > 0) {
            await report(user, uris);
        }
        return {};
    },
}, host);
