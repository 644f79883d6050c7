"""What an agent is given to read: passages made whole, in reading order, within a budget, each one traced back."""

from quoth.context.assembly import assemble
from quoth.context.blocks import block_text

__all__ = ["assemble", "block_text"]
