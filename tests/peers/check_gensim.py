"""gensim reads what we write and we read what gensim writes; the same neighbours on the English table."""
import logging

import numpy as np
from gensim.models import KeyedVectors
from peer import DATA, main, objects, run

ENGLISH = DATA.parent.parent / "lib/english/english.bin"
WORDS = ["cat", "dog", "été", "日本", "a.b", "x" * 90]
logging.disable(logging.WARNING)


def vectors():
    kv = KeyedVectors(vector_size=6)
    kv.add_vectors(WORDS, np.random.default_rng(3).standard_normal((len(WORDS), 6)).astype("f4"))
    return kv


def theirs_to_ours():
    kv = vectors()
    for name, options in (("a.bin", {"binary": True}), ("a.txt", {}), ("noheader.txt", {"write_header": False})):
        kv.save_word2vec_format(name, **options)
        found = objects("lookup", "-t", name, "--", *WORDS)
        assert [o["token"] for o in found] == WORDS, name
        assert np.array_equal(np.array([o["vector"] for o in found], "f4"), kv.vectors), name


def ours_to_theirs():
    kv = vectors()
    kv.save_word2vec_format("a.bin", binary=True)
    open("words", "w").write("\n".join(WORDS) + "\n")
    for name, options in (("init.bin", {"binary": True}), ("init.vec", {})):
        run("init", "6", "--tokens", "words", "-o", name)
        back = KeyedVectors.load_word2vec_format(name, **options)
        assert back.index_to_key == WORDS, name
        assert np.array_equal(np.array([o["vector"] for o in objects("lookup", "-t", name, "--", *WORDS)], "f4"),
                              back.vectors), name


def same_neighbours():
    kv = KeyedVectors.load_word2vec_format(str(ENGLISH), binary=True)
    for word in ("cat", "king", "river", "blue", "seven", "café"):
        want = [w for w, _ in kv.most_similar(word, topn=10)]
        got = [h["token"] for h in objects("similar", word, "-t", ENGLISH)[0]["hits"]]
        assert got == want, word


def same_analogies():
    kv = KeyedVectors.load_word2vec_format(str(ENGLISH), binary=True)
    for a, b, c in (("man", "king", "woman"), ("france", "paris", "italy"), ("good", "better", "bad")):
        plus, minus = [b, c], [a]
        for method, theirs in (("add", kv.most_similar), ("mul", kv.most_similar_cosmul)):
            want = [w for w, _ in theirs(positive=plus, negative=minus, topn=8)]
            got = objects("similar", "--analogy", a, b, c, "-k", 8, "--method", method, "-t", ENGLISH)
            assert [h["token"] for h in got[0]["hits"]] == want, (a, b, c, method)


if __name__ == "__main__":
    main([theirs_to_ours, ours_to_theirs, same_neighbours, same_analogies])
