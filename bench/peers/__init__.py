"""Peers: what users would take instead of us, on the same workloads and the same machine.

In come names of `table.PEERS` and workloads; out come figures, or why there is none. Each peer has an environment of
its own under build/peers, in pinned versions, made on first use; its interpreter runs a program of `programs/`, which
knows the peer and the standard library and nothing of us. Nothing listens beyond this machine, and whatever was started
has ended when its figure is given.
"""

from bench.peers.measuring import PeerFigure, measured
from bench.peers.table import PEERS

__all__ = ["PEERS", "PeerFigure", "measured"]
