"""Parquet files of documents, read and written in batches of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpcore.errors import InputError, MissingPackageError
from dpcore.lexicon.damage import ARRAYS, brief
from dpcore.privatize.files import ORIGINAL, Documents, Span, check_lengths

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from dpcore.privatize.files import Columns

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
                raise InputError(
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
                row_bytes = max(1, group.total_byte_size // max(1, group.num_rows))
                # Of very long rows a few more: each span decodes its row group from the start.
                step = max(_LEAST_ROWS, length // row_bytes)
                for start in range(begin, begin + group.num_rows, step):
                    yield Span(start, min(start + step, begin + group.num_rows), start)
                begin += group.num_rows

    def read(self, path: Path, span: Span, columns: Columns) -> Documents:
        """See `Format.read`."""
        arrow, _ = _packages()
        try:
            table = self._rows(path, span, [columns.text, *columns.keep])
            texts: list[str | None] = table.column(columns.text).to_pylist()
        except (arrow.ArrowException, OSError, *ARRAYS) as error:
            if _of_the_system(error):
                raise
            # Its message could hold words of the text.
            raise InputError(
                f"{path.name} is damaged in the rows {span.start + 1:,} to {span.stop:,} "
                f"({type(error).__name__})"
            ) from None
        check_lengths(texts, span, path)
        return Documents(texts, table.select([*columns.keep, columns.text]))

    def write(
        self, documents: Documents, private: list[str | None], columns: Columns, out: Path
    ) -> None:
        """See `Format.write`."""
        arrow, parquet = _packages()
        written = {columns.text: arrow.chunked_array([arrow.array(private, arrow.string())])}
        for name in columns.keep:
            kept = documents.rows.column(name)
            written[name] = kept.cast(released_type(kept.type))
        if columns.original:
            written[ORIGINAL] = documents.rows.column(columns.text)
        parquet.write_table(arrow.table(written), out, compression="zstd")

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
            batches, row = [], begin
            for batch in file.iter_batches(_BATCH, row_groups=[number], columns=names):
                low, high = max(span.start, row), min(span.stop, row + batch.num_rows)
                if low < high:
                    batches.append(batch.slice(low - row, high - low))
                row += batch.num_rows
                if row >= span.stop:
                    break
        return arrow.Table.from_batches(batches)

    def join(self, parts: Sequence[Path], out: Path, path: Path, columns: Columns) -> None:
        """One row group a part."""
        arrow, parquet = _packages()
        if not parts:
            with _opened(path) as file:
                kinds = [(name, file.schema_arrow.field(name).type) for name in columns.keep]
            fields = [arrow.field(name, released_type(kind)) for name, kind in kinds]
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
        if _of_the_system(error):
            raise
        raise InputError(f"{path.name} is not a parquet file, or damaged: {brief(error)}") from None


def _of_the_system(error: Exception) -> bool:
    """Whether a file could not be read at all: Arrow says OSError of a damaged one as well.

    Its own shortage of memory is one of its exceptions, and of Python's.
    """
    return isinstance(error, MemoryError) or (
        isinstance(error, OSError) and error.errno is not None
    )


def released_type(kind: Any) -> Any:
    """The type in which a kept column is written: that of its values alone.

    A categorical column carries all its categories, also those that no row has, and a field
    inside a struct may carry notes. Both are of the original, not of the rows that are kept.

    Args:
        kind: an Arrow type.

    Returns:
        The same type without categories, notes and extensions, at every depth.
    """
    arrow, _ = _packages()
    types = arrow.types
    if isinstance(kind, arrow.BaseExtensionType):
        return released_type(kind.storage_type)
    if types.is_dictionary(kind):
        return released_type(kind.value_type)
    if types.is_struct(kind):
        fields = [kind.field(number) for number in range(kind.num_fields)]
        return arrow.struct([_bare(field) for field in fields])
    if types.is_map(kind):
        return arrow.map_(_bare(kind.key_field), _bare(kind.item_field), kind.keys_sorted)
    if types.is_fixed_size_list(kind):
        return arrow.list_(_bare(kind.value_field), kind.list_size)
    if types.is_large_list(kind):
        return arrow.large_list(_bare(kind.value_field))
    if types.is_list(kind):
        return arrow.list_(_bare(kind.value_field))
    return kind


def _bare(field: Any) -> Any:
    """A field of a nested type, without its notes."""
    arrow, _ = _packages()
    return arrow.field(field.name, released_type(field.type), field.nullable)
