package manifest

import (
	"bytes"
	"fmt"
	"testing"
)

// dumped is a list of pods as kubectl get -o json prints them, with the
// indentation that makes up half of it.
func dumped(pods int) []byte {
	var b bytes.Buffer
	b.WriteString("{\n    \"apiVersion\": \"v1\",\n    \"items\": [\n")
	for i := range pods {
		if i > 0 {
			b.WriteString(",\n")
		}
		fmt.Fprintf(&b, `        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "creationTimestamp": "2026-01-01T00:00:00Z",
                "labels": {
                    "app": "web",
                    "pod-template-hash": "5dff9dc7b"
                },
                "name": "web-5dff9dc7b-%05d",
                "namespace": "default",
                "ownerReferences": [
                    {
                        "apiVersion": "apps/v1",
                        "blockOwnerDeletion": true,
                        "controller": true,
                        "kind": "ReplicaSet",
                        "name": "web-5dff9dc7b",
                        "uid": "00000003-0000-4000-8000-000000000000"
                    }
                ],
                "resourceVersion": "%d"
            },
            "spec": {
                "containers": [
                    {
                        "env": [
                            {
                                "name": "POD_NAME",
                                "valueFrom": {
                                    "fieldRef": {
                                        "apiVersion": "v1",
                                        "fieldPath": "metadata.name"
                                    }
                                }
                            }
                        ],
                        "image": "nginx:1.25",
                        "name": "app",
                        "resources": {
                            "limits": {
                                "memory": "1Gi"
                            },
                            "requests": {
                                "cpu": "500m",
                                "memory": "1Gi"
                            }
                        }
                    }
                ],
                "nodeName": "node-%d",
                "tolerations": [
                    {
                        "effect": "NoExecute",
                        "key": "node.kubernetes.io/not-ready",
                        "operator": "Exists",
                        "tolerationSeconds": 300
                    }
                ]
            },
            "status": {
                "conditions": [
                    {
                        "lastProbeTime": null,
                        "lastTransitionTime": "2026-01-01T00:00:03Z",
                        "status": "True",
                        "type": "Ready"
                    }
                ],
                "phase": "Running",
                "qosClass": "Burstable"
            }
        }`, i, i, i%100)
	}
	b.WriteString("\n    ],\n    \"kind\": \"List\"\n}\n")
	return b.Bytes()
}

// BenchmarkList decodes a dump of a thousand pods.
func BenchmarkList(b *testing.B) {
	data := dumped(1000)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		set, err := Decode("dump", data, Lenient)
		if err != nil || len(set.Items) != 1000 {
			b.Fatal(err)
		}
	}
}

// BenchmarkListStreamed decodes it as a larger one is read: by windows, sharing.
func BenchmarkListStreamed(b *testing.B) {
	data := dumped(1000)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		set, err := streamed(data, windowSize)
		if err != nil || len(set.Items) != 1000 {
			b.Fatal(err)
		}
	}
}
