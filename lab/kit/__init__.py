"""The lab's tools: hosts in namespaces, wires between them, captures, servers, loads, truth and expectation."""
