"""Parquet files of documents, read and written in batches of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpcore.errors import MissingPackageError, StudyError
from dpcore.lexicon.damage import ARRAYS, brief
from dpcore.study.corpus import ORIGINAL, Span

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from dpcore.study.corpus import Columns, Rewrite

_BUFFER = 2**20  # bytes read at a time
_BATCH = 4_096  # rows decoded at a time
_LEAST_ROWS = 256  # of a span


class Parquet:
    """Parquet; the text column must be of strings."""

    name = "parquet"
    suffixes: tuple[str, ...] = (".parquet", ".pq")

    def check(self, path: Path, columns: Columns) -> None:
        """The schema must have the columns, and the texts must be strings."""
        with _opened(path) as file:
            columns.checked(file.schema_arrow.names, path)
            kind = file.schema_arrow.field(columns.text).type
            if str(kind) not in {"string", "large_string", "string_view"}:
                raise StudyError(
                    f"the column {columns.text!r} of {path.name} holds {kind}, not strings"
                )

    def size(self, path: Path) -> int:
        """Rows."""
        with _opened(path) as file:
            return int(file.metadata.num_rows)

    def spans(self, path: Path, length: int) -> Iterator[Span]:
        """Ranges of rows within one row group."""
        with _opened(path) as file:
            begin = 0
            for number in range(file.metadata.num_row_groups):
                group = file.metadata.row_group(number)
                wide = max(1, group.total_byte_size // max(1, group.num_rows))
                step = max(_LEAST_ROWS, length // wide)
                for start in range(begin, begin + group.num_rows, step):
                    yield Span(start, min(start + step, begin + group.num_rows), start)
                begin += group.num_rows

    def rewrite(
        self, path: Path, span: Span, columns: Columns, rewrite: Rewrite, out: Path
    ) -> None:
        """See `Format.rewrite`."""
        arrow, parquet = _packages()
        table = self._rows(path, span, [columns.text, *columns.keep])
        old = table.column(columns.text)
        text = arrow.chunked_array([arrow.array(rewrite(old.to_pylist()), arrow.string())])
        found = {columns.text: text} | {name: table.column(name) for name in columns.keep}
        if columns.original:
            found[ORIGINAL] = old
        parquet.write_table(arrow.table(found), out, compression="zstd")

    def _rows(self, path: Path, span: Span, names: list[str]) -> Any:
        """The rows of a span, which lie in one row group."""
        arrow, _ = _packages()
        with _opened(path) as file:
            begin = 0
            for number in range(file.metadata.num_row_groups):
                rows = file.metadata.row_group(number).num_rows
                if begin + rows > span.start:
                    break
                begin += rows
            batches, at = [], begin
            for batch in file.iter_batches(_BATCH, row_groups=[number], columns=names):
                low, high = max(span.start, at), min(span.stop, at + batch.num_rows)
                if low < high:
                    batches.append(batch.slice(low - at, high - low))
                at += batch.num_rows
                if at >= span.stop:
                    break
        return arrow.Table.from_batches(batches)

    def join(self, parts: Sequence[Path], out: Path, path: Path, columns: Columns) -> None:
        """One row group a part."""
        arrow, parquet = _packages()
        if not parts:
            with _opened(path) as file:
                fields = [file.schema_arrow.field(name) for name in columns.keep]
            original = [ORIGINAL] if columns.original else []
            texts = [arrow.field(name, arrow.string()) for name in [columns.text, *original]]
            schema = arrow.schema([texts[0], *fields, *texts[1:]])
            parquet.write_table(schema.empty_table(), out, compression="zstd")
            return
        with _opened(parts[0]) as file:
            schema = file.schema_arrow
        with parquet.ParquetWriter(out, schema, compression="zstd") as writer:
            for part in parts:
                writer.write_table(parquet.read_table(part, schema=schema))


def _packages() -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingPackageError(
            "parquet files need the package pyarrow; install what the app needs with: "
            "pip install -r requirements.txt"
        ) from None
    return pyarrow, parquet


def _opened(path: Path) -> Any:
    arrow, parquet = _packages()
    try:
        # Buffered, or a whole column of a row group would be read at once.
        file = parquet.ParquetFile(path, pre_buffer=False, buffer_size=_BUFFER)
        _ = file.schema_arrow.names  # what is damaged in it shows only here
        return file
    except (arrow.ArrowException, OSError, *ARRAYS) as error:
        raise StudyError(f"{path.name} is not a parquet file, or damaged: {brief(error)}") from None
