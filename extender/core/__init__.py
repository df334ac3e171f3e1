"""What a pod holds and where it fits: arithmetic on values and arrays.

Belongs here: units, the model, the accounting rule, the fleet's arrays, the rules
that refuse a device, placement, policies, reasons. Same input, same answer.

Does not belong here: clocks, I/O, logging; Kubernetes JSON and annotation texts (in
`extender.wire`); who holds what at this moment (in `extender.state`).
"""
