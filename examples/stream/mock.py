"""A Kafka to try the consumer with: mock.py MESSAGES

librdkafka's mock cluster, which lives in this process until Ctrl-C.  Its topic "exposures" gets
MESSAGES messages, of a hundred users.  The program prints a setting for consume.py.
"""

import datetime
import json
import signal
import sys

from confluent_kafka import Producer

if len(sys.argv) != 2:
    sys.exit(__doc__)
producer = Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "none", "log_level": 0})
producer.list_topics("exposures")    # creates it
now = datetime.datetime.now(datetime.timezone.utc).isoformat()
for n in range(int(sys.argv[1])):
    while True:
        try:
            producer.produce("exposures", json.dumps(
                {"user_id": n % 100, "item_id": n // 100, "shown_at": now}))
            break
        except BufferError:
            producer.poll(0.1)
producer.flush()
broker = next(iter(producer.list_topics().brokers.values()))
print(f"bootstrap.servers={broker.host}:{broker.port}", flush=True)
try:
    signal.pause()
except KeyboardInterrupt:
    pass
