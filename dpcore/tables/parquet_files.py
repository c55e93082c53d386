"""Parquet files of documents, read and written in batches of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

from dpcore.errors import InputError
from dpcore.lexicon.cache import ARRAYS
from dpcore.limits import MAX_DECODED_BYTES, MAX_LABELLED_BYTES
from dpcore.optional import missing
from dpcore.tables.files import ORIGINAL, SPAN_BYTES, Columns, Documents, Span, check_lengths
from dpcore.tables.shape import Shape
from dpcore.tables.streams import File, Uploaded, opened
from dpcore.tables.text_files import as_text

_BUFFER = 2**20  # bytes read at a time
_BATCH = 4_096  # rows decoded at a time
_LEAST_ROWS = 256  # of a span


@dataclass(frozen=True)
class Parquet:
    """Parquet; the texts must be strings, or categories that are strings."""

    shape: Shape

    def check(self, file: File, columns: Columns) -> None:
        """Check that the schema has the columns, and that the texts are strings."""
        columns.checked(self.shape, file)
        with _opened(file) as table:
            kind = table.schema_arrow.field(self._places(columns)[0]).type
        if not _is_text(kind):
            raise InputError(
                f"the column {columns.text!r} of {file.name} holds {_kind_name(kind)}, not strings"
            )

    def cells(self, file: File) -> Iterator[list[str]]:
        """Yield the cells of each row; see `Format.cells`."""
        everything = Columns(self.shape.names[0], self.shape.names[1:])
        for span in self.spans(file, SPAN_BYTES):
            table = self._decoded(file, span, everything)
            for row in zip(*(column.to_pylist() for column in table), strict=True):
                yield [as_text(value) for value in row]

    def size(self, file: File) -> int:
        """Return the number of rows."""
        with _opened(file) as table:
            return int(table.metadata.num_rows)

    def spans(self, path: File, length: int) -> Iterator[Span]:
        """Yield ranges of rows within one row group."""
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

    def read(self, file: File, span: Span, columns: Columns) -> Documents:
        """Read a span; see `Format.read`."""
        arrow, _ = _packages()
        text, *kept = self._decoded(file, span, columns)
        text = text.cast(arrow.string())
        texts: list[str | None] = text.to_pylist()
        check_lengths(texts, span, file)
        names = [ORIGINAL, *columns.keep]
        return Documents(texts, arrow.Table.from_arrays([text, *kept], names=names))

    def _decoded(self, file: File, span: Span, columns: Columns) -> list[Any]:
        """Return the columns of a span, every value in its row."""
        arrow, _ = _packages()
        try:
            table = self._rows(file, span, self._places(columns))
            # Only now is a value that occurs in many rows written out in each of them.
            return [each.cast(released_type(each.type)) for each in table.columns]
        except (arrow.ArrowException, OSError, *ARRAYS) as error:
            if _of_the_system(error) or isinstance(error, InputError | MemoryError):
                raise
            # Its message could contain words of the text.
            raise InputError(
                f"{file.name} is damaged in the rows {span.start + 1:,} to {span.stop:,} "
                f"({type(error).__name__})"
            ) from None

    def kept(self, documents: Documents, columns: Columns) -> list[list[Any]]:
        """Return the kept cells of each row; see `Format.kept`."""
        kept = [
            documents.rows.column(place).to_pylist() for place in range(1, len(columns.keep) + 1)
        ]
        return [list(row) for row in zip(*kept, strict=True)]

    def write(
        self, documents: Documents, private: list[str | None], columns: Columns, out: BinaryIO
    ) -> None:
        """Write the rows of a span; see `Format.write`."""
        arrow, parquet = _packages()
        original, *kept = documents.rows.columns
        written = [arrow.chunked_array([arrow.array(private, arrow.string())]), *kept]
        written += [original] if columns.original else []
        names = self._released(columns)
        parquet.write_table(arrow.Table.from_arrays(written, names=names), out, compression="zstd")

    def header(self, columns: Columns) -> bytes:
        """Return no bytes: the file of a span is complete."""
        return b""

    def _released(self, columns: Columns) -> list[str]:
        return [columns.text, *columns.keep, *([ORIGINAL] * columns.original)]

    def _places(self, columns: Columns) -> list[int]:
        places = (self.shape.place(name) for name in (columns.text, *columns.keep))
        return [place for place in places if place is not None]

    def _rows(self, file: File, span: Span, places: list[int]) -> Any:
        """Read the rows of a span, which lie in one row group; strings are not written out yet."""
        arrow, _ = _packages()
        names = [self.shape.names[place] for place in places]
        most = 4 * MAX_LABELLED_BYTES if isinstance(file, Uploaded) else MAX_DECODED_BYTES
        # A value of many rows is stored once until its bytes have been counted.
        with _opened(file, once=names) as table:
            begin = 0
            for number in range(table.metadata.num_row_groups):
                rows = table.metadata.row_group(number).num_rows
                if begin + rows > span.start:
                    break
                begin += rows
            batches, row, size = [], begin, 0
            for batch in table.iter_batches(_BATCH, row_groups=[number], columns=names):
                low, high = max(span.start, row), min(span.stop, row + batch.num_rows)
                if low < high:
                    part = batch.slice(low - row, high - low).select(names)
                    part.validate(full=True)  # a string of a damaged file may be no UTF-8
                    size += sum(_decoded_bytes(column) for column in part.columns)
                    if size > most:
                        raise InputError(
                            f"{file.name} holds more than {most:,} bytes in the rows "
                            f"{span.start + 1:,} to {span.stop:,} once they are written out; its "
                            "documents must fit into memory: split them"
                        )
                    batches.append(part)
                row += batch.num_rows
                if row >= span.stop:
                    break
        # Each batch may have its own dictionary: as a table they are columns of many chunks.
        return arrow.Table.from_batches(batches)

    def join(self, parts: Sequence[File], out: BinaryIO, file: File, columns: Columns) -> None:
        """Write each part as one row group."""
        arrow, parquet = _packages()
        if not parts:
            with _opened(file) as table:
                kinds = [table.schema_arrow.field(place).type for place in self._places(columns)]
            types = [arrow.string(), *map(released_type, kinds[1:])]
            types += [arrow.string()] if columns.original else []
            fields = map(arrow.field, self._released(columns), types)
            parquet.write_table(arrow.schema(list(fields)).empty_table(), out, compression="zstd")
            return
        with _opened(parts[0]) as table:
            schema = table.schema_arrow
        with parquet.ParquetWriter(out, schema, compression="zstd") as writer:
            for part in parts:
                with opened(part) as source:
                    writer.write_table(parquet.read_table(source, schema=schema))


def parquet_names(file: File) -> tuple[str, ...]:
    """Return the names of the columns of a parquet file; a column without one gets its number.

    Raises:
        InputError: the file is damaged.
    """
    with _opened(file) as table:
        names = table.schema_arrow.names
    return tuple(name or f"column {number}" for number, name in enumerate(names, start=1))


def _is_text(kind: Any) -> bool:
    arrow, _ = _packages()
    kind = kind.value_type if arrow.types.is_dictionary(kind) else kind
    return str(kind) in {"string", "large_string", "string_view"}


def _kind_name(kind: Any) -> str:
    """Return a type without the names of its fields, which may be private."""
    arrow, _ = _packages()
    return "lists or structures" if arrow.types.is_nested(kind) else str(kind)


def _decoded_bytes(values: Any) -> int:
    """Count the bytes of an array once every value is written out in its row."""
    arrow, _ = _packages()
    from pyarrow import compute

    kind = values.type
    if isinstance(kind, arrow.BaseExtensionType):
        return _decoded_bytes(values.storage)
    if arrow.types.is_dictionary(kind):
        try:
            sizes = compute.binary_length(values.dictionary)
        except arrow.ArrowNotImplementedError:  # of numbers: eight bytes each at most
            return 8 * len(values)
        return int(compute.sum(sizes.take(values.indices)).as_py() or 0)
    if arrow.types.is_struct(kind):
        return sum(_decoded_bytes(values.field(i)) for i in range(kind.num_fields))
    if arrow.types.is_map(kind):
        return _decoded_bytes(values.keys) + _decoded_bytes(values.items)
    if arrow.types.is_list(kind) or arrow.types.is_large_list(kind):
        return _decoded_bytes(values.flatten())
    return int(values.nbytes)


def _packages() -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise missing("parquet files need the package pyarrow", "app") from None
    return pyarrow, parquet


def _opened(file: File, once: Sequence[str] = ()) -> Any:
    """Open a parquet file.

    Args:
        file: the file.
        once: columns whose strings are stored once, however many rows contain them.
    """
    arrow, parquet = _packages()
    try:
        source = opened(file) if isinstance(file, Uploaded) else file
        # Buffered, or a whole column of a row group would be read at once.
        given: dict[str, Any] = {"pre_buffer": False, "buffer_size": _BUFFER}
        table = parquet.ParquetFile(source, **given)
        if once:
            leaves = [table.schema.column(i) for i in range(len(table.schema))]
            strings = [
                leaf.path
                for leaf in leaves
                if leaf.path.split(".")[0] in once and leaf.physical_type == "BYTE_ARRAY"
            ]
            table.close()
            source = opened(file) if isinstance(file, Uploaded) else file
            table = parquet.ParquetFile(source, read_dictionary=strings, **given)
        _ = table.schema_arrow.names  # a damaged schema raises only here
        return table
    except (arrow.ArrowException, OSError, *ARRAYS) as error:
        if _of_the_system(error) or isinstance(error, MemoryError):
            raise
        # Its message may quote the file.
        raise InputError(
            f"{file.name} is not a parquet file, or damaged ({type(error).__name__})"
        ) from None


def _of_the_system(error: Exception) -> bool:
    """Return True if a file cannot be read: Arrow raises OSError for a damaged one as well."""
    return isinstance(error, OSError) and error.errno is not None


def released_type(kind: Any) -> Any:
    """Return the type in which a kept column is written: that of its values alone.

    A categorical column carries all its categories, also those that no row has, and a field
    inside a struct may carry notes. Both belong to the original, not to the rows that are kept.

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
    """Return a field of a nested type, without its notes."""
    arrow, _ = _packages()
    return arrow.field(field.name, released_type(field.type), field.nullable)
