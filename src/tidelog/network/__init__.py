"""Located programs on asynchronous nodes: no coordinator, no rounds, no order of messages.

localize    a located program to rules each of which reads the tuples of one node (program);  locations  the marks `@`
rulebook    the program of a node while rules travel;  values  tuples as a user writes them
joins       the ways in which a body holds at a node;  derivations  which heads these derive
functors    functions in Python at a node, and their results
grounds     what derivations rest on;  choices  which of them a node holds true
machine     the node without I/O: messages in and out;  peer  the conversation with one other;  survey  is the network
            quiet?
node        `Node`: the state machine with a transport, and a store: snapshot  its state,  journal  the steps since
limits      bounds on what others cause at a node
inquiry     one node asks why a tuple holds: reasons  of each node;  proofs  in the user's words: bases  of derivations,
            rule_instances  of the user's rules
wire        messages as bytes;  transport  carries them: SimulatedNetwork;  zeromq, mqtt  sockets, a broker
simulation  `Simulation`: a whole network in one process, with an adversary and a seed
stamps      when facts have come
gathering   the verbs of explanations that need the facts of all nodes;  blame  since when a tuple holds
local       a network of processes on this machine;  config  the files of `tidelog node` and `tidelog network`
"""

from tidelog.network.limits import Limits
from tidelog.network.localize import localize
from tidelog.network.node import Node
from tidelog.network.simulation import Simulation
from tidelog.network.transport import SimulatedNetwork, SimulatedTransport, Transport

__all__ = ["Limits", "Node", "SimulatedNetwork", "SimulatedTransport", "Simulation", "Transport", "localize"]
