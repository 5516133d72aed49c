"""Attacks in the small, with the functions that the long campaigns use, and what these have found."""

import io
import json
import signal
import zipfile

import numpy as np
import pytest

import rational_anova as ra
from experiments.hostile import exports, mutations
from experiments.hostile.fuzz import FINE, campaign
from experiments.hostile.specimens import specimens

KINDS = (
    "network", "estimator", "law", "dynamics", "certificate", "history", "checkpoint",
    "surgery plan", "table, commas", "table, tabs", "table, gzip", "table, Parquet", "CIFAR batch",
    "named forms",
)  # fmt: skip


@pytest.fixture(scope="module")
def every(tmp_path_factory):
    return specimens(tmp_path_factory.mktemp("specimens"))


def test_every_kind_is_attacked(every):
    assert tuple(every) == KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_mutated_files(kind, every, tmp_path):
    if not hasattr(signal, "alarm"):
        pytest.skip("no alarm on this system")
    found = campaign(kind, every[kind], tmp_path, 60, seed=3)
    assert found["findings"] == 0, found["first"]
    assert sum(found[word] for word in FINE) == 60


def opened(content, tmp_path, edited=True):
    path = tmp_path / "file"
    path.write_bytes(content)
    return ra.load(path, edited=edited)


@pytest.mark.parametrize("kind", KINDS[:7])
def test_a_number_that_was_changed_is_noticed(kind, every, tmp_path):
    """The last digit of a number, or a bit of a weight: the file is well formed, and says so."""
    content = bytearray(every[kind].content)
    if kind == "network":
        content[-1] ^= 1
    elif content.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            parts = {name: bytearray(archive.read(name)) for name in archive.namelist()}
        parts["0.npy"][-1] ^= 1
        result = io.BytesIO()
        with zipfile.ZipFile(result, "w") as archive:
            for name, part in parts.items():
                archive.writestr(name, bytes(part))
        content = result.getvalue()
    else:
        record = json.loads(content)
        key = {"law": "target", "dynamics": "time"}.get(kind) or {
            "history": "optimizer",
            "certificate": "margin",
        }[kind]
        record[key] += "x"
        content = json.dumps(record).encode()
    with pytest.raises(ValueError, match=r"does not have the checksum .* edited=True\) opens it"):
        opened(bytes(content), tmp_path, edited=False)


def test_a_law_that_was_changed_by_hand(every, tmp_path):
    """Its template and parameters count; that the formula says something else is told."""
    law = json.loads(every["law"].content)
    law["parameters"][0]["value"] = 3.5
    for without in (False, True):
        if without:
            del law["checksum"]
        changed = json.dumps(law).encode()
        with pytest.raises(ValueError, match="edited=True"):
            opened(changed, tmp_path, edited=False)
        with pytest.warns(UserWarning, match="the formula of .* is not that of its template"):
            found = opened(changed, tmp_path)
    assert found.parameters[0].value == 3.5
    ra.save(found, tmp_path / "again")
    assert ra.load(tmp_path / "again").to_json() == found.to_json()


CRAFTED = {
    "deep": lambda law: {**law, "doubts": json.loads("[" * 900 + "]" * 900)},
    "a tower": lambda law: {**law, "template": "((9**9999)**9999)"},
    "floor": lambda law: {**law, "template": "floor(exp(exp(100)))"},
    "code": lambda law: {**law, "template": "__import__('os').system('true')"},
    "no name": lambda law: {**law, "target": ["v"]},
    "huge": lambda law: {**law, "evidence": {**law["evidence"], "rows": 10**400}},
    "an entry misspelt": lambda law: {**law, "check3wm": "d6ba"},
    "the imaginary unit": lambda law: {**law, "template": "I*vmax*S/(km + S)"},
    "infinity": lambda law: {**law, "template": "zoo"},
    "less than float64 can hold": lambda law: {**law, "template": "1e-400*vmax*S/(km + S)"},
    "a field too many": lambda law: {**law, "noise": {**law["noise"], "predict": 1}},
}


@pytest.mark.parametrize("name", CRAFTED)
def test_crafted_laws(name, every, tmp_path):
    law = json.loads(every["law"].content)
    del law["checksum"]
    assert opened(json.dumps(law).encode(), tmp_path)
    with pytest.raises(ValueError, match="is damaged"):
        opened(mutations.dumped(CRAFTED[name](law)), tmp_path)


@pytest.mark.parametrize("size", [2**31, 10**18, 10**400])
def test_sizes_that_would_take_all_memory(size, every, tmp_path):
    data = every["network"].content
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    arguments = json.loads(header["__metadata__"]["arguments"])
    header["__metadata__"]["arguments"] = json.dumps({**arguments, "in_features": size})
    text = json.dumps(header).encode()
    with pytest.raises(ValueError, match="would have a size of"):
        opened(len(text).to_bytes(8, "little") + text + data[8 + length :], tmp_path)
    plan = json.loads(every["surgery plan"].content)
    for name, value in {"features": size, "degrees": [size, 2]}.items():
        plan["places"][0]["arguments"][name] = value
        path = tmp_path / "plan.json"
        path.write_text(json.dumps(plan))
        with pytest.raises(ValueError, match="would have a size of"):
            every["surgery plan"].read(path)
    with pytest.raises(ValueError, match="degrees must be at most 1000"):
        ra.Rational1d(3, degrees=(2000, 2))


def test_an_entry_that_no_network_has(every, tmp_path):
    """As when the name of the checksum is damaged, and a weight with it."""
    data = every["network"].content.replace(b'"checksum"', b'"chec{sum"')
    with pytest.raises(ValueError, match="has an entry 'chec{sum', which is none of a network"):
        opened(data, tmp_path)


def test_a_doubt_of_blanks_is_none(every, tmp_path):
    law = json.loads(every["law"].content)
    del law["checksum"]
    plain = opened(json.dumps({**law, "doubts": []}).encode(), tmp_path).summary()
    assert opened(json.dumps({**law, "doubts": [" "]}).encode(), tmp_path).summary() == plain


DYNAMICS = {
    "another parameter": lambda d: d["parameters"][0].update(name="c1"),
    "no run": lambda d: d["starts"].clear(),
    "a start too long": lambda d: d["starts"][0]["state"].append(1.0),
    "no equation": lambda d: d["equations"].clear(),
    "small covariance": lambda d: d["covariance"].pop(),
    "an exact number that never ends": lambda d: d["parameters"][0].update(exact="1e999999999"),
    "noise of another": lambda d: d["noise"].update(z=1.0),
    "rows in words": lambda d: d.update(rows="many"),
    "another value": lambda d: d["parameters"][0].update(value=-0.25),
}


@pytest.mark.parametrize("name", DYNAMICS)
def test_crafted_dynamics(name, every, tmp_path):
    system = json.loads(every["dynamics"].content)
    del system["checksum"], system["equations"]["x"]["checksum"]
    assert opened(json.dumps(system).encode(), tmp_path)
    DYNAMICS[name](system)
    with pytest.raises(ValueError, match="is damaged"):
        opened(json.dumps(system).encode(), tmp_path)


@pytest.mark.parametrize("dtype", ["I64", "BOOL", "F8_E4M3", "F8_E5M2"])
def test_weights_of_a_wrong_type(dtype, every, tmp_path):
    data = every["network"].content
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    del header["__metadata__"]["checksum"]
    name = next(key for key in header if key != "__metadata__")
    width = {"I64": 8}.get(dtype, 1)
    low, high = header[name]["data_offsets"]
    header[name]["dtype"] = dtype
    header[name]["shape"] = [(high - low) // width]
    text = json.dumps(header).encode()
    with pytest.raises(ValueError, match="damaged"):
        opened(len(text).to_bytes(8, "little") + text + data[8 + size :], tmp_path)


@pytest.mark.parametrize("change", ["deflated", "encrypted", "missing"])
def test_archives_that_are_stored_otherwise(change, every, tmp_path):
    with zipfile.ZipFile(io.BytesIO(every["estimator"].content)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    if change == "missing":
        del parts["0.npy"]
    packing = zipfile.ZIP_DEFLATED if change == "deflated" else zipfile.ZIP_STORED
    result = io.BytesIO()
    with zipfile.ZipFile(result, "w", packing) as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    content = bytearray(result.getvalue())
    if change == "encrypted":
        content[6] |= 1
        content[content.rindex(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(ValueError, match="damaged"):
        opened(bytes(content), tmp_path)


def shadowed(record, parts):
    record["state"]["predict"] = 5


def renamed(record, parts):
    names = record["state"]["feature_names_in_"]["is"]
    names[names.index("age")] = "wages"


def of_complex(record, parts):
    array = np.load(io.BytesIO(parts["0.npy"]))
    packed = io.BytesIO()
    np.save(packed, array.astype(complex))
    parts["0.npy"] = packed.getvalue()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (shadowed, "has no 'predict'"),
        (renamed, "its input 'age' is none of its columns"),
        (of_complex, "must be an array of numbers"),
    ],
)
def test_crafted_estimators(change, message, every, tmp_path):
    with zipfile.ZipFile(io.BytesIO(every["estimator"].content)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    record = json.loads(parts["record.json"])
    change(record, parts)
    parts["record.json"] = json.dumps(record).encode()
    result = io.BytesIO()
    with zipfile.ZipFile(result, "w") as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    with pytest.raises(ValueError, match=message):
        opened(result.getvalue(), tmp_path)


def test_two_members_of_one_name(every, tmp_path):
    content = io.BytesIO(every["estimator"].content)
    with zipfile.ZipFile(content, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("0.npy", archive.read("1.npy"))
    with pytest.raises(ValueError, match="two of its members have one name"):
        opened(content.getvalue(), tmp_path)


# ---- exports


@pytest.fixture(scope="module")
def models():
    return dict(exports.models())


@pytest.mark.parametrize("engine", ["Python", "SQLite", "DuckDB", "ONNX"])
def test_exports_agree_on_hostile_rows(engine, models):
    if engine == "DuckDB":
        pytest.importorskip("duckdb")
    for seed, model in enumerate(models.values()):
        frame = exports.rows(150, 100 + seed, hostile=True)
        found = exports.ENGINES[engine](model, frame)
        assert exports.difference(found, exports.expected(model, frame)) < 1e-9


def test_a_table_that_lacks_a_column_is_an_error_of_the_database(models):
    import sqlite3

    frame = exports.rows(5, 0, hostile=False).drop(columns="age")
    frame["when"], frame["code"] = frame["when"].astype(str), frame["code"].astype(int)
    base = sqlite3.connect(":memory:")
    frame.to_sql("people", base, index=False)
    with pytest.raises(sqlite3.OperationalError, match="no such column"):
        base.execute(f"SELECT {models['identity'].to_sql('sqlite')} FROM people")
    plain = ra.RANRegressor(pairs=0, refinements=0).fit({"age": np.arange(30.0)}, np.arange(30.0))
    with pytest.raises(sqlite3.OperationalError, match="no such column"):
        base.execute(f"SELECT {plain.to_sql()} FROM people AS t")


def test_text_is_no_number_in_sqlite():
    import sqlite3

    model = ra.RANRegressor(pairs=0, refinements=0).fit({"age": np.arange(30.0)}, np.arange(30.0))
    base = sqlite3.connect(":memory:")
    base.execute("CREATE TABLE people (age)")
    base.execute("INSERT INTO people VALUES ('12.5'), ('')")
    (first,), (gap,) = base.execute(f"SELECT {model.to_sql('sqlite')} FROM people").fetchall()
    wanted = model.predict({"age": [12.5, np.nan]})
    np.testing.assert_allclose([first, gap], wanted, rtol=1e-9)
    base.execute("INSERT INTO people VALUES ('old')")
    with pytest.raises(sqlite3.OperationalError, match="overflow"):
        base.execute(f"SELECT {model.to_sql('sqlite')} FROM people").fetchall()


def test_a_class_called_prediction(models):
    model = models["three classes"]
    frame = exports.rows(60, 7, hostile=False)
    import sqlite3

    base = sqlite3.connect(":memory:")
    rows = frame.assign(
        when=frame["when"].astype(str).replace("NaT", None), code=frame["code"].astype(int)
    )
    rows.to_sql("people", base, index=False)
    both = f"{model.to_sql('sqlite')}, {model.to_sql('sqlite', probability='prediction')}"
    found = base.execute(f"SELECT {both} FROM people").fetchall()
    assert [name for name, _ in found] == model.predict(frame).tolist()
    place = model.classes_.tolist().index("prediction")
    np.testing.assert_allclose(
        [p for _, p in found], model.predict_proba(frame)[:, place], atol=1e-9
    )
