package main

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

var createdAt = metav1.NewTime(time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC))

// pendingPod is a pod as kube-scheduler holds it: from its informer, so without kind and
// apiVersion, and stripped of managedFields.
func pendingPod() *corev1.Pod {
	always := corev1.ContainerRestartPolicyAlways
	priority := int32(0)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:              "trainer-0",
			Namespace:         "research",
			UID:               "3a1f4a86-6c0a-4bb7-9f10-6a3f0f2d8f11",
			ResourceVersion:   "4711",
			Generation:        1,
			CreationTimestamp: createdAt,
			Labels:            map[string]string{"app": "trainer"},
			Annotations: map[string]string{
				"hami.io/node-scheduler-policy": "spread",
				"nvidia.com/use-gputype":        "A10,A100",
				"example.com/note":              "fast & <quiet>, größer",
			},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "StatefulSet", Name: "trainer",
				UID: "8d0f6f3c-33f1-4f4e-9a53-1b7f5d7a9c02",
			}},
		},
		Spec: corev1.PodSpec{
			InitContainers: []corev1.Container{
				{
					Name:            "cache",
					Image:           "registry.example/cache:1",
					RestartPolicy:   &always,
					Resources:       limitedTo("nvidia.com/gpu", "1", "nvidia.com/gpumem", "2000"),
					ImagePullPolicy: corev1.PullIfNotPresent,
				},
				{
					Name:            "warm-up",
					Image:           "registry.example/warm-up:1",
					Command:         []string{"sh", "-c", "load && exit 0"},
					Resources:       limitedTo("nvidia.com/gpu", "1", "nvidia.com/gpumem", "20k"),
					ImagePullPolicy: corev1.PullIfNotPresent,
				},
			},
			Containers: []corev1.Container{{
				Name:  "train",
				Image: "registry.example/train:1",
				Resources: limitedTo(
					"cpu", "500m", "memory", "8Gi",
					"nvidia.com/gpu", "2", "nvidia.com/gpumem", "10000", "nvidia.com/gpucores", "30",
				),
				ImagePullPolicy: corev1.PullAlways,
			}},
			RestartPolicy:      corev1.RestartPolicyAlways,
			DNSPolicy:          corev1.DNSClusterFirst,
			ServiceAccountName: "default",
			SchedulerName:      "gpu-scheduler",
			Priority:           &priority,
			Tolerations: []corev1.Toleration{{
				Key: "nvidia.com/gpu", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule,
			}},
		},
		Status: corev1.PodStatus{
			Phase:    corev1.PodPending,
			QOSClass: corev1.PodQOSBurstable,
			Conditions: []corev1.PodCondition{{
				Type:               corev1.PodScheduled,
				Status:             corev1.ConditionFalse,
				Reason:             corev1.PodReasonUnschedulable,
				Message:            "0/2 nodes are available: 2 CardInsufficientMemory.",
				LastTransitionTime: createdAt,
			}},
		},
	}
}

// firstNode registers two cards as HAMi v2.10 does, the second one without the keys whose
// value is zero: it is unhealthy.
func firstNode() corev1.Node {
	return gpuNode("gpu-node-1", "6d3c1c1e-52a4-4b60-8d7e-0a6f6c1b2d01", "20", map[string]string{
		"hami.io/node-nvidia-register": `[` +
			`{"id":"GPU-1b","index":1,"count":10,"devmem":24564,"devcore":100,"type":"NVIDIA A10","mode":"hami-core"},` +
			`{"id":"GPU-1a","count":10,"devmem":24564,"devcore":100,"type":"NVIDIA A10","mode":"hami-core","health":true}` +
			`]`,
		"hami.io/device-cordon": "GPU-1b",
	})
}

// secondNode registers one card, and its plugin is gone: nothing is allocatable.
func secondNode() corev1.Node {
	return gpuNode("gpu-node-2", "0f0b7d52-7b1c-4a87-8f5e-2f1f6f9f0a02", "0", map[string]string{
		"hami.io/node-nvidia-register": `[` +
			`{"id":"GPU-2a","count":4,"devmem":81920,"devcore":100,"type":"NVIDIA A100-SXM4-80GB",` +
			`"numa":1,"mode":"hami-core","health":true}` +
			`]`,
		"hami.io/node-handshake": "Requesting_2026-01-01 00:00:00",
	})
}

func gpuNode(name string, uid types.UID, slots string, annotations map[string]string) corev1.Node {
	offered := corev1.ResourceList{
		"cpu":            resource.MustParse("64"),
		"memory":         resource.MustParse("512Gi"),
		"pods":           resource.MustParse("110"),
		"nvidia.com/gpu": resource.MustParse(slots),
	}
	return corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:              name,
			UID:               uid,
			ResourceVersion:   "4242",
			CreationTimestamp: createdAt,
			Labels:            map[string]string{"gpu": "on", "kubernetes.io/hostname": name},
			Annotations:       annotations,
		},
		Status: corev1.NodeStatus{
			Capacity:    offered,
			Allocatable: offered,
			Conditions: []corev1.NodeCondition{{
				Type:               corev1.NodeReady,
				Status:             corev1.ConditionTrue,
				Reason:             "KubeletReady",
				LastHeartbeatTime:  createdAt,
				LastTransitionTime: createdAt,
			}},
		},
	}
}

// limitedTo sets limits from pairs of name and quantity, and the same requests, as the
// API server defaults them.
func limitedTo(pairs ...string) corev1.ResourceRequirements {
	list := corev1.ResourceList{}
	for index := 0; index < len(pairs); index += 2 {
		list[corev1.ResourceName(pairs[index])] = resource.MustParse(pairs[index+1])
	}
	return corev1.ResourceRequirements{Limits: list, Requests: list.DeepCopy()}
}
