package validate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/rollout"
)

// Upstream validates its internal types and prints them when they are wrong.
// They have no JSON names, so a structure shows the names of its Go fields.
// What follows prints our v1 types that way.

// rollingInternal and strategyInternal have the shape of the internal strategy,
// whose limits are no pointers.
type rollingInternal struct {
	MaxUnavailable, MaxSurge intstr.IntOrString
}

type strategyInternal struct {
	Type          appsv1.DeploymentStrategyType
	RollingUpdate *rollingInternal
}

// GoString is the form of releases before 1.34.
func (s strategyInternal) GoString() string {
	if s.RollingUpdate != nil {
		return addressMark // an address, which no two runs share
	}
	return fmt.Sprintf("apps.DeploymentStrategy{Type:%q, RollingUpdate:(*apps.RollingUpdateDeployment)(nil)}", string(s.Type))
}

func strategyValue(s *appsv1.DeploymentStrategy) strategyInternal {
	value := strategyInternal{Type: s.Type}
	if r := s.RollingUpdate; r != nil {
		value.RollingUpdate = &rollingInternal{MaxUnavailable: orZero(r.MaxUnavailable), MaxSurge: orZero(r.MaxSurge)}
	}
	return value
}

// internal prints a core/v1 structure with the names of its Go fields. It does
// for structures without embedded ones whose internal twins have the same
// fields in the same order, and is used for those only.
type internal struct{ value any }

// MarshalJSON writes the value as its internal twin would be written.
func (i internal) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	err := writeInternal(&out, reflect.ValueOf(i.value))
	return out.Bytes(), err
}

// GoString keeps the JSON form: these structures are full of pointers, whose
// addresses older releases printed.
func (i internal) GoString() string { return addressMark }

var corePackage = reflect.TypeFor[corev1.Container]().PkgPath()

func writeInternal(out *bytes.Buffer, v reflect.Value) error {
	switch {
	case v.Kind() == reflect.Pointer && !v.IsNil():
		return writeInternal(out, v.Elem())
	case v.Kind() == reflect.Struct && v.Type().PkgPath() == corePackage:
		return writeFields(out, v)
	}
	text, err := json.Marshal(v.Interface())
	out.Write(text)
	return err
}

func writeFields(out *bytes.Buffer, v reflect.Value) error {
	for i := range v.NumField() {
		separator := ","
		if i == 0 {
			separator = "{"
		}
		fmt.Fprintf(out, "%s%q:", separator, v.Type().Field(i).Name)
		if err := writeInternal(out, v.Field(i)); err != nil {
			return err
		}
	}
	out.WriteByte('}')
	return nil
}

// addressMark is how %#v begins the address behind a pointer.
const addressMark = "(0x"

// goSyntax is text printed as it stands: it cannot be marshalled, so that the
// printing of field errors falls back to String.
type goSyntax string

func (g goSyntax) String() string { return string(g) }

// MarshalJSON fails on purpose.
func (goSyntax) MarshalJSON() ([]byte, error) { return nil, errors.New("printed as it stands") }

// printed gives the errors the look of a release: before 1.34 values other than
// numbers and texts were in Go syntax. Values with pointers keep their JSON form,
// because the addresses printed then differ from run to run.
func printed(errs field.ErrorList, v rollout.Version) field.ErrorList {
	if v.JSONValues() {
		return errs
	}
	for _, err := range errs {
		err.BadValue = goValue(err.BadValue)
	}
	return errs
}

func goValue(value any) any {
	v := reflect.ValueOf(value)
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return "null"
		}
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Struct, reflect.Map, reflect.Slice:
		if v.Type() == reflect.TypeFor[field.OmitValueType]() {
			return value
		}
		text := fmt.Sprintf("%#v", v.Interface())
		if strings.Contains(text, addressMark) {
			return value
		}
		return goSyntax(text)
	case reflect.Invalid:
		return "null"
	}
	return v.Interface()
}
