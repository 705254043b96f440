package worlds

import (
	"reflect"
	"unsafe"
)

// field is an unexported field of a controller, to read and to replace.
func field[T any](controller any, name string) *T {
	f := reflect.ValueOf(controller).Elem().FieldByName(name)
	return (*T)(unsafe.Pointer(f.UnsafeAddr()))
}
