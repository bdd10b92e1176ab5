"""(viii) Sets that are known only by their oracles: instances of other sizes and kinds than those of `oracles`."""

from oracles import run_variety as run

__all__ = ["run"]
