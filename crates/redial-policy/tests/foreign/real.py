"""What the systems themselves do: their own code is asked for its delays, or they are run and timed.

    python3 -m venv /tmp/real && /tmp/real/bin/pip install botocore==1.44.3
    /tmp/real/bin/python crates/redial-policy/tests/foreign/real.py > crates/redial-policy/tests/foreign/real.txt
    /tmp/real/bin/pip install botocore==1.43.11
    /tmp/real/bin/python crates/redial-policy/tests/foreign/real.py aws >> crates/redial-policy/tests/foreign/real.txt

Prints a line for each: the dialect, its version, the text of a policy, and its delays in milliseconds. Where chance is in a
delay, the ends of what can be drawn. curl and wget are run against a server on loopback that answers 503, and sleep for real:
their delays are cut to whole seconds, as a machine only ever adds to them.
"""

import http.server
import json
import subprocess
import sys
import threading
import time


def say(dialect, version, text, delays, client=None):
    print(json.dumps({"dialect": dialect, "client": client, "version": version, "text": text, "delays_ms": delays}))


def botocore():
    import botocore
    from botocore.retries import standard

    for attempts in (3, 9):
        ends = []
        for share in (0.0, 1.0):
            backoff = standard.ExponentialBackoff(max_backoff=20, random=lambda: share)
            contexts = [standard.RetryContext(attempt_number=n) for n in range(1, attempts)]
            ends.append([round(1000 * backoff.delay_amount(context)) for context in contexts])
        text = f"[default]\nretry_mode = standard\nmax_attempts = {attempts}\n"
        client = "python-1.43" if botocore.__version__.startswith("1.43.") else "python"
        say("aws", f"botocore {botocore.__version__}", text, list(zip(*ends)), client)


class Busy(http.server.BaseHTTPRequestHandler):
    times = []

    def do_GET(self):
        self.times.append(time.monotonic())
        self.send_response(503)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def timed(program, *flags):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Busy)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    Busy.times.clear()
    url = f"http://127.0.0.1:{server.server_port}/"
    subprocess.run([program, *flags, url], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    server.shutdown()
    version = subprocess.run([program, "--version"], capture_output=True, text=True).stdout.split("\n")[0]
    waits = [int(later - earlier) * 1000 for earlier, later in zip(Busy.times, Busy.times[1:])]
    words = " ".join([program, *flags, "http://localhost/"])
    say(program, " ".join(version.split()[:3]), words, [(wait, wait) for wait in waits])


botocore()
if sys.argv[1:] != ["aws"]:
    timed("curl", "--retry", "3")
    timed("curl", "--retry", "3", "--retry-delay", "2")
    timed("curl", "--retry", "9", "--retry-max-time", "2")
    timed("wget", "--tries", "5", "--waitretry", "3", "--retry-on-http-error=503")
