"""A new study as a paper ran it: its mode and its numbers, and its pictures enlarged beforehand.

Collins et al. 2022 showed pictures of 32 x 32 pixels at 160 x 160, enlarged with a Lanczos filter
and saved as PNG.  The study folder holds the enlarged pictures, so that what is in the folder is
what people see, and nothing is computed while a study runs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softlabel.errors import MissingExtra, SoftlabelError, UnknownName
from softlabel.study.new import NEW

if TYPE_CHECKING:
    from PIL.Image import Image

    from softlabel.study.setup import Material

KEPT = ("L", "LA", "RGB", "RGBA")  # pixels of 8 bits, which a Lanczos filter takes as they are
DEEP = ("I", "F")  # pixels of 16 bits and more: reduced to 8, they would look different
COLUMNS = ("image", "image_2")  # of a table


@dataclass(frozen=True)
class Preset:
    """How a paper asked: the mode, the longer side of pictures, and settings of ``[items]``."""

    name: str
    paper: str
    mode: str
    enlarge: int
    items: Mapping[str, Any] = field(default_factory=dict)

    def fit_items(self, material: "Material") -> dict[str, Any]:
        """Return the settings of ``[items]``, no larger than the material; batches set their own
        numbers."""
        most = len(material.rows)
        if any("batch" in row for row in material.rows):
            return {"per_item": self.items["per_item"]}
        sizes = ("per_annotator", "batch_size")
        return {k: min(v, most) if k in sizes else v for k, v in self.items.items()}


PRESETS = {name: Preset(name, **values) for name, values in NEW["presets"].items()}


def find_preset(name: str) -> Preset:
    """Return the preset of this name."""
    if name not in PRESETS:
        raise UnknownName("preset", name, PRESETS)
    return PRESETS[name]


def enlarge_material(material: "Material", side: int) -> "Material":
    """Return the material with its pictures enlarged when they are placed in the study folder;
    their names then end in ``.png``."""
    names: dict[str, str] = {}
    taken: dict[str, str] = {}
    for name, path in material.files.items():
        size = _measure(path)
        small = size is not None and max(size) < side
        names[name] = Path(name).with_suffix(".png").as_posix() if small else name
        if other := taken.get(names[name]):
            both = f"{other} and {name} would both become {names[name]}"
            raise SoftlabelError(f"{both} when they are enlarged; rename one of them")
        taken[names[name]] = name
    rows = [
        {k: _rename(v, names) if k in COLUMNS else v for k, v in row.items()}
        for row in material.rows
    ]
    files = {names[name]: path for name, path in material.files.items()}
    return replace(material, rows=rows, files=files, enlarge=side)


def _rename(cell: Any, names: Mapping[str, str]) -> Any:
    """Return the new name of a file, or of each in a list of files."""
    if isinstance(cell, list):
        return [_rename(one, names) for one in cell]
    return names.get(Path(str(cell)).as_posix(), cell)


def write_enlarged(source: Path, target: Path, side: int) -> bool:
    """Write a picture as PNG whose longer side has ``side`` pixels, enlarged with a Lanczos filter;
    return False, and write nothing, if it is no picture or is as large already."""
    size = _measure(source)
    if size is None or max(size) >= side:
        return False
    from PIL import Image, ImageOps

    with Image.open(source) as opened:
        if getattr(opened, "n_frames", 1) > 1:
            raise SoftlabelError(f"{source}: moves, so it cannot be enlarged; save one frame of it")
        if opened.mode.startswith(DEEP):
            reason = f"has pixels of more than 8 bits (mode {opened.mode})"
            raise SoftlabelError(f"{source}: {reason}; save it with 8 bits to enlarge it")
        picture = _unpack(ImageOps.exif_transpose(opened))
        factor = side / max(picture.size)
        width, height = (max(1, round(factor * edge)) for edge in picture.size)
        larger = picture.resize((width, height), Image.Resampling.LANCZOS)
        target.parent.mkdir(parents=True, exist_ok=True)
        larger.save(target, "PNG", icc_profile=opened.info.get("icc_profile"))
    return True


def _unpack(picture: "Image") -> "Image":
    """Return a picture whose pixels can be averaged: of a palette, Pillow would repeat pixels."""
    if picture.mode in KEPT:
        return picture
    return picture.convert("RGBA" if picture.has_transparency_data else "RGB")


def _measure(path: Path) -> tuple[int, int] | None:
    """Return the width and height of a picture; None if the file is no picture."""
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError as error:
        raise MissingExtra("enlarging pictures", "images") from error
    try:
        with Image.open(path) as opened:
            width, height = opened.size
            return int(width), int(height)
    except UnidentifiedImageError:
        return None
    except OSError as error:
        raise SoftlabelError(f"{path}: cannot be read as a picture: {error}") from error
