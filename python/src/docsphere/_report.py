"""The report page in a notebook."""

from __future__ import annotations

import html
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path

from ._checks import natural

# The page is shown without an origin of its own: it reaches neither the notebook nor its server.
_SANDBOX = "allow-scripts allow-downloads allow-popups allow-popups-to-escape-sandbox"


@dataclass(frozen=True, repr=False)
class Report:
    """The page of a clustering.

    A notebook shows it below the cell that returns it: self-contained, in a frame
    that cannot reach the notebook. The notebook stores it with its output.

    Attributes
    ----------
    html : str
        The page, as it is in a file.

    path : Path or None
        The file that it was written to.

    height : int
        The height of the frame in a notebook, in pixels.

    See Also
    --------
    report : Makes the page.
    Result.show : Makes the page of a result that was read from a folder.
    """

    html: str
    path: Path | None = None
    height: int = 760

    def show(self, height: int) -> Report:
        """Return the same page with another height in a notebook.

        Parameters
        ----------
        height : int
            The height of the frame, in pixels.

        Returns
        -------
        report : Report
            The page.
        """
        return replace(self, height=natural("height", height))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the page to a file.

        Parameters
        ----------
        path : str or path-like
            The file.
        """
        Path(path).write_text(self.html, encoding="utf-8", newline="")

    def _repr_html_(self) -> str:
        return (
            f'<iframe title="docsphere report" sandbox="{_SANDBOX}" srcdoc="{html.escape(self.html)}" '
            f'style="width: 100%; height: {self.height}px; border: 1px solid #8888"></iframe>'
        )

    def __repr__(self) -> str:
        place = "" if self.path is None else f", written to {self.path}"
        return f"<Report of {len(self.html.encode()):,} bytes{place}>"
