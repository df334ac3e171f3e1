package main

import (
	corev1 "k8s.io/api/core/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
)

// messages are the bodies that kube-scheduler sends and those that it reads, by file.
func messages() map[string]any {
	names := []string{"gpu-node-1", "gpu-node-2"}
	nodes := corev1.NodeList{Items: []corev1.Node{firstNode(), secondNode()}}
	return map[string]any{
		"args_node_names.json": extenderv1.ExtenderArgs{Pod: pendingPod(), NodeNames: &names},
		"args_nodes.json":      extenderv1.ExtenderArgs{Pod: pendingPod(), Nodes: &nodes},

		"filter_node_names.json": extenderv1.ExtenderFilterResult{
			NodeNames: &names,
			FailedNodes: extenderv1.FailedNodesMap{
				"gpu-node-4": "CardInsufficientMemory, CardTimeSlicingExhausted",
				"gpu-node-3": "CardInsufficientCore",
			},
			FailedAndUnresolvableNodes: extenderv1.FailedNodesMap{
				"gpu-node-6": "CardTypeMismatch",
				"gpu-node-5": "NodeUnregistered",
			},
		},
		"filter_nodes.json": extenderv1.ExtenderFilterResult{
			Nodes:       &nodes,
			FailedNodes: extenderv1.FailedNodesMap{"gpu-node-3": "CardInsufficientCore"},
		},
		"filter_error.json": extenderv1.ExtenderFilterResult{
			Error: "nodes and pods are not synced yet",
		},
		"filter_nothing.json": extenderv1.ExtenderFilterResult{},
		"filter_none_fits.json": extenderv1.ExtenderFilterResult{
			NodeNames:                  &[]string{},
			FailedNodes:                extenderv1.FailedNodesMap{},
			FailedAndUnresolvableNodes: extenderv1.FailedNodesMap{"gpu-node-5": "NodeUnregistered"},
		},

		"priorities.json": extenderv1.HostPriorityList{
			{Host: "gpu-node-2", Score: 10}, {Host: "gpu-node-1", Score: 0},
		},
		"priorities_empty.json": extenderv1.HostPriorityList{},

		"binding_args.json": extenderv1.ExtenderBindingArgs{
			PodName:      pendingPod().Name,
			PodNamespace: pendingPod().Namespace,
			PodUID:       pendingPod().UID,
			Node:         "gpu-node-1",
		},
		"binding_done.json":  extenderv1.ExtenderBindingResult{},
		"binding_error.json": extenderv1.ExtenderBindingResult{Error: "the lock of gpu-node-1 is held"},
	}
}
