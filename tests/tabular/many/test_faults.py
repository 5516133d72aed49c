"""What goes wrong with parts of a table is told by the name of the part; nothing is half fitted."""

import numpy as np
import pandas as pd
import pytest

import rational_anova as ra

from .conftest import chunked

OPTIONS = {"pairs": 0, "refinements": 0}


@pytest.fixture
def folder(table, tmp_path, quick):
    for n, part in enumerate(chunked(table[["a", "c", "y"]], 600)):
        part.to_parquet(tmp_path / f"part-{n}.parquet", index=False)
    return tmp_path


def refused(folder, *words):
    """The fit is refused with words, and the estimator is as it was."""
    model = ra.RANRegressor(**OPTIONS)
    with pytest.raises(ValueError, match=".") as caught:
        model.fit(folder, "y")
    for word in words:
        assert word in str(caught.value), str(caught.value)
    assert not hasattr(model, "model_")
    assert vars(model) == vars(ra.RANRegressor(**OPTIONS))


def changed(folder, n, **columns):
    path = folder / f"part-{n}.parquet"
    pd.read_parquet(path).assign(**columns).to_parquet(path, index=False)


@pytest.mark.parametrize("size", [0, 3, 1000, -20])
def test_a_truncated_file(folder, size):
    path = folder / "part-2.parquet"
    path.write_bytes(path.read_bytes()[:size])
    refused(folder, "part-2.parquet", "damaged")


def test_damage_inside_a_file(folder):
    path = folder / "part-3.parquet"
    pd.read_parquet(path).to_parquet(path, index=False, write_page_checksum=True)
    content = bytearray(path.read_bytes())
    content[30:600] = bytes(570)
    path.write_bytes(bytes(content))
    refused(folder, "part-3.parquet")


def test_a_column_that_changes_its_type(folder):
    changed(folder, 3, a="high")
    refused(folder, "'a'", "text", "part-3.parquet", "numbers", "part-0.parquet")


def test_a_target_that_changes_its_type(folder):
    changed(folder, 1, y="high")
    refused(folder, "target", "part-1.parquet")


def test_a_chunk_with_other_columns(folder):
    path = folder / "part-4.parquet"
    pd.read_parquet(path).rename(columns={"c": "d"}).to_parquet(path, index=False)
    refused(folder, "part-4.parquet", "lacks ['c']", "['d']")


def test_infinity_and_gaps_of_the_target(folder):
    changed(folder, 2, a=np.inf)
    refused(folder, "part-2.parquet", "'a'", "infinity")
    changed(folder, 2, a=0.5, y=np.nan)
    refused(folder, "part-2.parquet", "NaN")


def test_an_empty_part_and_a_level_of_the_last_part(folder, table):
    frame = table[["a", "c", "y"]]
    last = pd.read_parquet(folder / "part-4.parquet")
    last.loc[last.index[-40:], ["c", "y"]] = ["rare", 9.0]
    last.to_parquet(folder / "part-4.parquet", index=False)
    plain = ra.RANRegressor(**OPTIONS).fit(folder, "y")
    frame[:0].to_parquet(folder / "part-2b.parquet", index=False)
    found = ra.RANRegressor(**OPTIONS).fit(folder, "y")
    row = pd.DataFrame({"a": [0.0], "c": ["rare"]})
    assert "rare" in found.features_[1].levels
    assert found.predict(row)[0] == plain.predict(row)[0] > 7


def test_a_class_of_the_last_part(quick, table):
    frame = table[["a", "b", "two"]].copy()
    frame.loc[frame.index[-60:], "two"] = "rare"
    model = ra.RANClassifier(**OPTIONS).fit(chunked(frame, 500), "two")
    assert list(model.classes_) == ["no", "rare", "yes"]


def test_columns_in_another_order(quick, table):
    frame = table[["a", "c", "y"]]
    mixed = [frame[:1500], frame[1500:][["y", "c", "a"]]]
    found = ra.RANRegressor(**OPTIONS).fit(mixed, "y").predict(frame[["a", "c"]])
    assert (found == ra.RANRegressor(**OPTIONS).fit([frame], "y").predict(frame[["a", "c"]])).all()


def test_a_column_that_is_empty_in_one_part(quick, table):
    frame = table[["a", "c", "y"]].copy()
    frame.loc[:999, "a"] = np.nan
    parts = [frame[:1000].astype({"a": object}), frame[1000:]]
    assert ra.RANRegressor(**OPTIONS).fit(parts, "y").features_[0].gaps


def test_a_function_that_does_not_repeat_itself(quick, table):
    frame, calls = table[["a", "y"]], []

    def chunks():
        calls.append(1)
        return chunked(frame[: len(frame) - 5 * len(calls)], 700)

    with pytest.raises(ValueError, match="must not change while it is read"):
        ra.RANRegressor(**OPTIONS).fit(chunks, "y")


def test_what_is_asked_for_must_be_there(quick, table, tmp_path):
    frame = table[["a", "y"]]
    with pytest.raises(ValueError, match="'price', which is no column of chunk 1"):
        ra.RANRegressor().fit(chunked(frame, 500), "price")
    with pytest.raises(TypeError, match="name of one of its columns"):
        ra.RANRegressor().fit(chunked(frame, 500), frame["y"])
    with pytest.raises(FileNotFoundError, match="nowhere"):
        ra.RANRegressor().fit(tmp_path / "nowhere", "y")
    with pytest.raises(ValueError, match="no files"):
        ra.RANRegressor().fit(tmp_path, "y")
    with pytest.raises(ValueError, match="need all rows in memory"):
        ra.RANRegressor(depth="deep").fit(chunked(frame, 500), "y")
    with pytest.raises(ValueError, match="engine='dask' is for tables of more"):
        ra.RANRegressor().fit(frame[["a"]][:50], frame["y"][:50], engine="dask")
    with pytest.raises(ValueError, match="no rows"):
        ra.RANRegressor().fit(iter([frame[:0]]), "y")


def test_weights_that_cannot_be(quick, table):
    frame = table[["a", "y", "weight"]].copy()
    frame.loc[1700, "weight"] = -1
    with pytest.raises(ValueError, match="not negative, got -1.* of chunk 4"):
        ra.RANRegressor().fit(chunked(frame, 500), "y", "weight")
