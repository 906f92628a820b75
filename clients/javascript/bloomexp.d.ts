/** integer; text, or uuid where the filter holds uuids; bytea */
export type Item = number | bigint | string | Uint8Array;

export type Kind = 'integer' | 'text' | 'uuid' | 'bytea';

/** The columns of bloom_info(). */
export interface Info {
    kind: Kind | null;
    items: number;
    capacity: number;
    fpr: number;
    fprNow: number;
    bits: number;
    bitsSet: number;
    fill: number;
    layers: number;
    bytes: number;
    counting: boolean;
    /** microseconds */
    windowWidth: bigint | null;
    slices: number | null;
    /** microseconds since 2000-01-01 00:00 UTC */
    expiredBefore: bigint | null;
}

/** What the server would refuse. */
export class BloomError extends Error {
    /** SQLSTATE */
    readonly code: string;
    readonly detail?: string;
    readonly hint?: string;
}

/** The header of a layer, the oldest first. */
export interface Layer {
    readonly words: number;
    readonly hashes: number;
    readonly capacity: number;
    readonly items: number;
    readonly bitsSet: number;
    readonly blocks: number;
    readonly positions: number;
    readonly slice: bigint | null;
    /** one bit per position, also for counters */
    readonly bits: Uint8Array;
    rateNow(): number;
}

/** A filter as it was when it was read. */
export class Filter {
    private constructor();
    readonly bytes: Uint8Array;
    readonly layers: readonly Layer[];
    contains(item: Item): boolean;
    contains(item: Item | null | undefined): boolean | null;
    exclude<T extends Item>(candidates: readonly (T | null | undefined)[]): T[];
    exclude(candidates: BigInt64Array): BigInt64Array;
    excludePacked(candidates: Uint8Array): Uint8Array;
    info(): Info;
    toString(): string;
}

/**
 * The text form of a value, or its bytes, which must not change afterwards; null is an empty
 * filter.
 */
export function parse(value: string | Uint8Array | null | undefined): Filter;
