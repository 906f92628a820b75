"""Adds exposures from a Kafka topic to the feed "seen": consume.py TOPIC BATCH SETTING=VALUE...

The settings are librdkafka's, and the PG* variables lead to the server.  A message is JSON, such as
{"user_id": 42, "item_id": 701, "shown_at": "2026-11-23T10:00:00Z"}.  Errors of the server end
the program, but not a message that does not fit.  Once started again, the program repeats the last
batch, which changes nothing.
"""

import contextlib
import json
import signal
import sys
import threading

import psycopg
from confluent_kafka import Consumer, KafkaException

ADD = """
    SELECT count(*) FILTER (WHERE e IS NOT NULL),
        seen.add_batch(array_agg(user_id), array_agg(item_id), array_agg(shown_at))
    FROM unnest(%s::text[]) AS message,
        json_to_record(message::json) AS e(user_id bigint, item_id bigint, shown_at timestamptz)"""

# What the server can never take, however often it gets the data.
REFUSED = (psycopg.DataError, psycopg.errors.CheckViolation, psycopg.errors.ProgramLimitExceeded,
           psycopg.errors.StatementTooComplex, UnicodeDecodeError)


def add(connection, messages):
    """Add the exposures of some messages and return how many; skip messages that have none."""
    try:
        values = [message.value().decode() for message in messages]
        return connection.execute(ADD, [values]).fetchone()[0]
    except REFUSED as error:
        if len(messages) > 1:
            half = len(messages) // 2
            return add(connection, messages[:half]) + add(connection, messages[half:])
        first = messages[0]
        print(f"skipped partition {first.partition()}, offset {first.offset()}: {error}",
              flush=True)
        return 0


def main(topic, batch, *settings):
    read = added = 0

    def log(statistics):
        statistics = json.loads(statistics)
        partitions = statistics["topics"].get(topic, {}).get("partitions", {}).values()
        # The offsets of a partition whose broker does not answer are out of date.
        brokers = {broker["nodeid"] for broker in statistics["brokers"].values()
                   if broker["state"] == "UP" and broker["nodeid"] >= 0}
        lags = [p["hi_offset"] - max(p["committed_offset"], 0) for p in partitions
                if p["fetch_state"] == "active" and p["hi_offset"] >= 0 and p["leader"] in brokers]
        print(f"read {read}, added {added}, partitions {len(lags)},"
              f" lag {sum(lags) if lags else 'unknown'}", flush=True)

    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    consumer = Consumer({"group.id": "seen", "auto.offset.reset": "earliest",
                         "statistics.interval.ms": 10000,
                         **dict(setting.split("=", 1) for setting in settings),
                         "enable.auto.commit": False, "stats_cb": log})
    with psycopg.connect(autocommit=True) as connection, contextlib.closing(consumer):
        consumer.subscribe([topic])
        while not stop.is_set():
            received = consumer.consume(int(batch), timeout=1)
            messages = [message for message in received if not message.error()]
            exposures = [message for message in messages if message.value() is not None]
            for message in received:
                if message.error():
                    print(message.error(), flush=True)
            if exposures:
                added += add(connection, exposures)
            if messages:
                read += len(messages)
                try:
                    consumer.commit(asynchronous=False)
                # another consumer has the partition now, and repeats the batch
                except KafkaException as error:
                    print(f"not committed: {error.args[0].str()}", flush=True)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
