"""The load's client for HTTP: gmq's three methods and errors on the outside, leases inside."""

from harness import gmq, http_api
from harness.http_tables import contract_in_source

POP_WAIT_MS = 500


class HttpClient:
    """Every request and reply is held against the contract, under fire as well."""

    def __init__(self, port):
        self._api = http_api.HttpApi(port, contract=contract_in_source())
        self._held = {}  # id: the job as it was popped

    def call(self, method, param):
        calls = {"Push": self._push, "Pop": self._pop, "Ack": self._ack}
        try:
            return calls[method](param)
        except http_api.Refused as refusal:
            raise gmq.GmqError(_gmq_text(refusal)) from refusal
        except http_api.LostConnection as error:
            raise gmq.LostConnection(str(error)) from error

    def _push(self, job):
        self._api.push(job["topic"], job["body"], id=job["id"], delay_ms=job["delay"] * 1000,
                       ttr_ms=job["TTR"] * 1000)
        return "success"

    def _pop(self, topics):
        jobs = self._api.pop(*topics, wait_ms=POP_WAIT_MS)
        if not jobs:
            raise gmq.GmqError("empty")
        job = jobs[0]
        self._held[job["id"]] = job
        return {"id": job["id"], "topic": job["topic"], "body": job["body"],
                "TTR": job["ttr_ms"] // 1000, "consume_num": job["tries"]}

    def _ack(self, id):
        self._api.ack(self._held.pop(id))
        return True

    def close(self):
        self._api.close()


def _gmq_text(refusal):
    return "has exist" if refusal.code == "duplicate" else f"{refusal.code}: {refusal.message}"
