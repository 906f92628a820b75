// What both servers share: requests are checked before anything uses them, and none ends
// the process.

import http from 'node:http';
import { basename } from 'node:path';

export const refused = (status, name, message) =>
    Object.assign(new Error(message), { status, name });
export const invalid = (message) => refused(400, 'InvalidRequest', message);

/** The object of a text in JSON, or undefined. */
export function objectOf(text) {
    try {
        const value = JSON.parse(text);
        return typeof value === 'object' ? value ?? undefined : undefined;
    } catch {
        return undefined;
    }
}

/** The JSON object in the body of a request, which must have at most `most` characters. */
export async function bodyOf(request, most) {
    let text = '';

    for await (const part of request.setEncoding('utf8')) {
        text += part;
        if (text.length > most) {
            throw refused(413, 'PayloadTooLarge', 'the request is too long');
        }
    }
    const body = objectOf(text);
    if (body === undefined) {
        throw invalid('this is not a JSON object');
    }
    return body;
}

/**
 * Pages of other sites can send requests to this machine: with an Origin of theirs, or to a
 * name of theirs that leads here.  Refuse both.
 */
function checkOrigin({ headers: { host = '', origin } }, name) {
    if (![name, '127.0.0.1', 'localhost'].includes(host.replace(/:\d+$/, ''))) {
        throw refused(421, 'MisdirectedRequest', 'this host is another one');
    }
    if (origin !== undefined && origin.replace(/^https?:\/\//, '') !== host) {
        throw refused(403, 'Forbidden', 'the request is from another site');
    }
}

/**
 * Answer requests from this machine, and requests that a proxy passes on for a host of this name.
 * With a name there is no page to open.
 *
 * `methods` has a function for each 'METHOD /path'.  It gets the request and the parameters,
 * and returns an object, or a type and a content.
 */
export function serve(port, methods, name) {
    const server = http.createServer(async (request, response) => {
        const [path, parameters] = request.url.split(/\?(.*)/s);
        let status = 200;
        let result;

        try {
            checkOrigin(request, name);
            const method = methods[`${request.method.replace('HEAD', 'GET')} ${path}`] ?? (() => {
                throw refused(404, 'MethodNotImplemented', 'there is no such method');
            });
            result = await method(request, new URLSearchParams(parameters));
        } catch (error) {
            status = error.status ?? 500;
            result = error.status ?
                { error: error.name, message: error.message } : { error: 'InternalServerError' };
            // a client that goes away in the middle is no error
            if (!error.status && request.complete) {
                console.error(error);
            }
        }
        const [type, content] = Array.isArray(result) ?
            result : ['application/json', JSON.stringify(result)];
        response.writeHead(status, { 'Content-Type': type }).end(content);
    });
    const fail = ({ code, message }) => {
        console.error(code === 'EADDRINUSE' ? `port ${port} is in use` : message);
        if (!server.listening) {
            console.error(`choose another port: ${name ? '' : 'make example PORT=9000, or '}` +
                `node ${basename(process.argv[1])} 9000`);
            process.exit(1);
        }
    };

    try {
        server.on('error', fail).listen(Number(port), '127.0.0.1',
            () => console.log(`${name ? 'listening at' : 'open'} ` +
                `http://127.0.0.1:${server.address().port}/`));
    } catch (error) { // this is no port
        fail(error);
    }
}
