package rollout

import "fmt"

// ReasonScaling is the reason of the Events about sizes of ReplicaSets.
const ReasonScaling = "ScalingReplicaSet"

// ScalingMessage is the text of the Event about a ReplicaSet that was resized.
func ScalingMessage(v Version, name string, from, to int32) string {
	direction := "down"
	if from < to {
		direction = "up"
	}
	switch {
	case v.ScalingEventFromTo():
		return fmt.Sprintf("Scaled %s replica set %s from %d to %d", direction, name, from, to)
	case v.ScalingEventToFrom():
		return fmt.Sprintf("Scaled %s replica set %s to %d from %d", direction, name, to, from)
	}
	return fmt.Sprintf("Scaled %s replica set %s to %d", direction, name, to)
}

// CreationMessage is the text of the Event about a ReplicaSet made with pods.
func CreationMessage(v Version, name string, size int32) string {
	if v.ScalingEventFromTo() {
		return ScalingMessage(v, name, 0, size)
	}
	return fmt.Sprintf("Scaled up replica set %s to %d", name, size)
}
