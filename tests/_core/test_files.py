"""Writing files whole, and the cache folder."""

import ast
import os
import signal
from pathlib import Path

import pytest
from matplotlib.figure import Figure

import rational_anova
from rational_anova._core.files import cache_folder, write_figure, write_whole


def test_a_file_appears_whole(tmp_path):
    path = tmp_path / "a" / "b" / "file"
    write_whole(path, b"one")
    write_whole(str(path), b"two")
    assert path.read_bytes() == b"two"
    assert [p.name for p in path.parent.iterdir()] == ["file"]


@pytest.mark.parametrize("call", ["replace", "fsync"])
def test_an_interrupted_write_leaves_the_old_file(tmp_path, monkeypatch, call):
    path = tmp_path / "file"
    write_whole(path, b"old")

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, call, stop)
    with pytest.raises(KeyboardInterrupt):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_full_disk_leaves_the_old_file(tmp_path):
    """A limit to the size of files stands for the disk; the error names the file."""
    import resource

    path, said = tmp_path / "file", tmp_path / "said"
    write_whole(path, b"old")
    said.touch()
    child = os.fork()
    if not child:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        try:
            write_whole(path, b"new" * 1000)
        except OSError as error:
            said.write_text(str(error))
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert path.read_bytes() == b"old"
    assert "nothing was written" in said.read_text()
    assert str(path) in said.read_text()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "said"]


def test_the_error_names_the_file_and_not_the_temporary_one(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(OSError, match=r"nothing was written.*file/below'"):
        write_whole(tmp_path / "file" / "below", b"new")


def test_the_ending_of_a_figure_is_its_format(tmp_path):
    for name, start in (("a.png", b"\x89PNG"), ("a.svg", b"<?xml"), ("a", b"\x89PNG")):
        write_figure(tmp_path / name, Figure(figsize=(1, 1)))
        assert (tmp_path / name).read_bytes().startswith(start)


def test_the_cache_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("RAN_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.delenv("RAN_CACHE")
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "rational_anova"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "rational_anova"


def test_a_user_without_a_home_has_no_cache_folder(monkeypatch):
    for name in ("RAN_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    monkeypatch.setattr(Path, "expanduser", lambda path: path)
    assert cache_folder() is None


WRITES = {"write_text", "write_bytes", "replace", "rename", "save", "dump", "savez", "tofile"}


def written(path):
    """The calls in a file of the package that look as if they wrote a file of their own."""
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func)
        module, _, last = name.rpartition(".")
        modes = [*node.args[1:2], *(k.value for k in node.keywords if k.arg == "mode")]
        mode = next((m.value for m in modes if isinstance(m, ast.Constant)), "r")
        if name == "open" or (last == "open" and module in ("io", "os", "gzip")):
            if set(str(mode)) & set("wxa+"):
                yield name
        elif (last in WRITES and module in ("os", "np", "torch", "json", "pickle", "shutil")) or (
            last.startswith("write_") and last in WRITES
        ):
            yield name


def test_nothing_else_writes_files():
    root = Path(rational_anova.__file__).parent
    found = {str(p.relative_to(root)): sorted(written(p)) for p in root.rglob("*.py")}
    assert {name: calls for name, calls in found.items() if calls} == {
        "_core/files.py": ["open", "os.replace"],
        "kernels/_build.py": ["os.replace"],  # what the compiler has written, moved into place
        # a lock that a server holds; tables in blocks, under a name of their own until they are whole
        "studio/_workspace.py": ["open", "open", "os.replace"],
    }
