"""Located programs on asynchronous nodes: no coordinator, no rounds, no order of messages.

localize    a located program, by its marks `@`, to rules each of which reads the tuples of one node (program)
rulebook    the program of a node while rules travel;  values  tuples as a user writes them
joins       the ways in which a body holds at a node;  derivations  which heads these derive
functors    functions in Python at a node, and their results
choices     which derivations a node holds true, and what they rest on
node_state  the node without I/O: messages in and out;  peer  the conversation with one other; is the network quiet?
node        `Node`: the state machine with a transport, and a store: journal  its state, and the steps since
limits      bounds on what others cause at a node
inquiry     one node asks why a tuple holds, and gets the reasons of each node;  proofs  in the user's words:
            rule_instances  of the user's rules
messages    what nodes say, and when facts have come;  wire  as bytes, and `Transport`;  zeromq, mqtt  sockets, a broker
simulation  `Simulation`: a whole network in one process, with an adversary and a seed
gathering   the verbs of explanations that need the facts of all nodes
local       a network of processes on this machine;  config  the files of `tidelog node` and `tidelog network`
"""

from tidelog.network.limits import Limits
from tidelog.network.localize import localize
from tidelog.network.node import Node
from tidelog.network.simulation import SimulatedNetwork, SimulatedTransport, Simulation
from tidelog.network.wire import Transport

__all__ = ["Limits", "Node", "SimulatedNetwork", "SimulatedTransport", "Simulation", "Transport", "localize"]
