package validate

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// livenessProbe checks a liveness or a startup probe.
func livenessProbe(p *corev1.Probe, path *field.Path) field.ErrorList {
	if p == nil {
		return nil
	}
	return append(probe(p, path), when(p.SuccessThreshold != 1,
		field.Invalid(path.Child("successThreshold"), p.SuccessThreshold, "must be 1"))...)
}

func readinessProbe(p *corev1.Probe, path *field.Path) field.ErrorList {
	if p == nil {
		return nil
	}
	return append(probe(p, path), when(p.TerminationGracePeriodSeconds != nil,
		field.Invalid(path.Child("terminationGracePeriodSeconds"), p.TerminationGracePeriodSeconds,
			"must not be set for readinessProbes"))...)
}

func probe(p *corev1.Probe, path *field.Path) field.ErrorList {
	errs := join(
		oneAction([]action{
			execAction(p.Exec), httpAction(p.HTTPGet), tcpAction(p.TCPSocket), grpcAction(p.GRPC),
		}, path),
		nonNegative(path.Child("initialDelaySeconds"), p.InitialDelaySeconds),
		nonNegative(path.Child("timeoutSeconds"), p.TimeoutSeconds),
		nonNegative(path.Child("periodSeconds"), p.PeriodSeconds),
		nonNegative(path.Child("successThreshold"), p.SuccessThreshold),
		nonNegative(path.Child("failureThreshold"), p.FailureThreshold),
	)
	if grace := p.TerminationGracePeriodSeconds; grace != nil && *grace <= 0 {
		errs = append(errs, field.Invalid(path.Child("terminationGracePeriodSeconds"), *grace, "must be greater than 0"))
	}
	return errs
}

// lifecycle checks the hooks; grace is how many seconds a pod has to end.
func lifecycle(l *corev1.Lifecycle, grace *int64, path *field.Path) field.ErrorList {
	if l == nil {
		return nil
	}
	return join(
		hook(l.PostStart, grace, path.Child("postStart")),
		hook(l.PreStop, grace, path.Child("preStop")),
	)
}

func hook(h *corev1.LifecycleHandler, grace *int64, path *field.Path) field.ErrorList {
	if h == nil {
		return nil
	}
	return oneAction([]action{
		execAction(h.Exec), httpAction(h.HTTPGet), tcpAction(h.TCPSocket), sleepAction(h.Sleep, grace),
	}, path)
}

// action is one of the things a probe or a hook can do; check is nil when it does not.
type action struct {
	name  string
	check func(path *field.Path) field.ErrorList
}

// oneAction demands exactly one. Of several, the first is checked and the
// others are refused. Source: validateHandler.
func oneAction(actions []action, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	found := false
	for _, a := range actions {
		switch {
		case a.check == nil:
		case found:
			errs = append(errs, field.Forbidden(path.Child(a.name), "may not specify more than 1 handler type"))
		default:
			found = true
			errs = append(errs, a.check(path.Child(a.name))...)
		}
	}
	return append(errs, when(!found, field.Required(path, "must specify a handler type"))...)
}

func execAction(exec *corev1.ExecAction) action {
	if exec == nil {
		return action{}
	}
	return action{"exec", func(path *field.Path) field.ErrorList {
		return when(len(exec.Command) == 0, field.Required(path.Child("command"), ""))
	}}
}

func httpAction(get *corev1.HTTPGetAction) action {
	if get == nil {
		return action{}
	}
	return action{"httpGet", func(path *field.Path) field.ErrorList {
		errs := join(
			required(path.Child("path"), get.Path),
			portNumberOrName(get.Port, path.Child("port")),
			oneOf(path.Child("scheme"), get.Scheme, corev1.URISchemeHTTP, corev1.URISchemeHTTPS),
		)
		for _, header := range get.HTTPHeaders {
			errs = append(errs, invalid(path.Child("httpHeaders"), header.Name, validation.IsHTTPHeaderName(header.Name))...)
		}
		return errs
	}}
}

func tcpAction(tcp *corev1.TCPSocketAction) action {
	if tcp == nil {
		return action{}
	}
	return action{"tcpSocket", func(path *field.Path) field.ErrorList {
		return portNumberOrName(tcp.Port, path.Child("port"))
	}}
}

func grpcAction(grpc *corev1.GRPCAction) action {
	if grpc == nil {
		return action{}
	}
	return action{"grpc", func(path *field.Path) field.ErrorList {
		return portNumberOrName(intstr.FromInt32(grpc.Port), path.Child("port"))
	}}
}

// sleepAction may last as long as the grace period; its message says "less than".
func sleepAction(sleep *corev1.SleepAction, grace *int64) action {
	if sleep == nil {
		return action{}
	}
	return action{"sleep", func(path *field.Path) field.ErrorList {
		if grace == nil || (sleep.Seconds >= 0 && sleep.Seconds <= *grace) {
			return nil
		}
		return field.ErrorList{field.Invalid(path, sleep.Seconds,
			fmt.Sprintf("must be non-negative and less than terminationGracePeriodSeconds (%d)", *grace))}
	}}
}

func portNumberOrName(port intstr.IntOrString, path *field.Path) field.ErrorList {
	if port.Type == intstr.String {
		return invalid(path, port.StrVal, validation.IsValidPortName(port.StrVal))
	}
	return invalid(path, port.IntVal, validation.IsValidPortNum(int(port.IntVal)))
}

// hostPortsUnique refuses the same port of a node twice.
func hostPortsUnique(containers []corev1.Container, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	taken := sets.New[string]()
	for i := range containers {
		for j, port := range containers[i].Ports {
			if port.HostPort == 0 {
				continue
			}
			socket := fmt.Sprintf("%s/%s/%d", port.Protocol, port.HostIP, port.HostPort)
			at := path.Index(i).Child("ports").Index(j).Child("hostPort")
			errs = append(errs, when(taken.Has(socket), field.Duplicate(at, socket))...)
			taken.Insert(socket)
		}
	}
	return errs
}

// Limits of restart rules.
const (
	maxRestartRules = 20
	maxExitCodes    = 255
)

// restartRules checks a container's own restart policy. Sources:
// validateContainerRestartPolicy, validateInitContainerRestartPolicy.
func restartRules(ctr *corev1.Container, init bool, path *field.Path) field.ErrorList {
	policy, rules := path.Child("restartPolicy"), path.Child("restartPolicyRules")
	var errs field.ErrorList
	if ctr.RestartPolicy != nil {
		errs = oneOf(policy, *ctr.RestartPolicy, corev1.ContainerRestartPolicyAlways,
			corev1.ContainerRestartPolicyNever, corev1.ContainerRestartPolicyOnFailure)
	} else if len(ctr.RestartPolicyRules) > 0 {
		errs = append(errs, field.Required(policy, "must specify restartPolicy when restart rules are used"))
	}
	if init && ctr.RestartPolicy == nil {
		return errs // the rules of such an init container are not looked at
	}
	errs = append(errs, when(len(ctr.RestartPolicyRules) > maxRestartRules,
		field.TooMany(rules, len(ctr.RestartPolicyRules), maxRestartRules))...)
	for i := range ctr.RestartPolicyRules {
		errs = append(errs, restartRule(&ctr.RestartPolicyRules[i], rules.Index(i))...)
	}
	return errs
}

func restartRule(rule *corev1.ContainerRestartRule, path *field.Path) field.ErrorList {
	errs := oneOf(path.Child("action"), rule.Action,
		corev1.ContainerRestartRuleActionRestart, corev1.ContainerRestartRuleActionRestartAllContainers)
	at := path.Child("exitCodes")
	if rule.ExitCodes == nil {
		return append(errs, field.Required(at, "must be specified"))
	}
	return join(errs,
		oneOf(at.Child("operator"), rule.ExitCodes.Operator,
			corev1.ContainerRestartRuleOnExitCodesOpIn, corev1.ContainerRestartRuleOnExitCodesOpNotIn),
		when(len(rule.ExitCodes.Values) > maxExitCodes,
			field.TooMany(at.Child("values"), len(rule.ExitCodes.Values), maxExitCodes)),
	)
}
