"""The built-in table gives the answers that were computed from it in double precision by numpy (english.expected.json)."""
import json

from peer import DATA, main, objects

EXPECTED = json.loads((DATA / "english.expected.json").read_text())


def same(got, want, what, scores="scores"):
    hits = got["hits"]
    assert [h["id"] for h in hits] == want["ids"], f"{what}: {[h['token'] for h in hits]}"
    if "words" in want:
        assert [h["token"] for h in hits] == want["words"], what
    for h, s in zip(hits, want[scores]):
        assert abs(h["score"] - s) <= 1e-12 * max(1, abs(s)), f"{what}: {h['score']} for {s}"


def neighbours():
    answers = objects("similar", "-q", "--digits", 0, *[e["query"] for e in EXPECTED["similar"]])
    for got, want in zip(answers, EXPECTED["similar"], strict=True):
        assert got["query"] == want["query"] and got["id"] == want["id"], got
        same(got, want, want["query"])


def algebra():
    for e in EXPECTED["algebra"]:
        text = " + ".join(e["plus"]) + "".join(f" - {w}" for w in e["minus"])
        for key, options in (("unit_terms", ()), ("raw_terms", ("--raw-terms",))):
            got, = objects("similar", "-q", "--digits", 0, "--expr", text, *options)
            same(got, e[key], f"{text} {key}")


def other_metrics():
    for e in EXPECTED["other_metrics"]:
        got, = objects("similar", "-q", "--digits", 0, "--metric", "dot", e["query"])
        same(got, e["dot"], f"{e['query']} dot")
        got, = objects("similar", "-q", "--digits", 0, "--metric", "euclidean", e["query"])
        want = e["euclidean_distance"]
        scores = next(v for k, v in want.items() if k in ("scores", "distances"))
        same(got, {**want, "minus": [-abs(s) for s in scores]}, f"{e['query']} euclidean", "minus")


if __name__ == "__main__":
    main([neighbours, algebra, other_metrics])
