// Package english keeps kubectl's texts as they were written. Without it,
// importing one of kubectl's commands unpacks and parses its translations before
// main runs, some 4 MB of garbage that every start of the program pays for, and
// what kubectl says would depend on LANG while what we say does not.
//
// It has to be initialized before any package that asks for a text. That is so:
// it needs nothing but i18n itself, and of the packages whose imports are ready
// the one whose path comes first in the alphabet is initialized next.
package english

import "k8s.io/kubectl/pkg/util/i18n"

func init() {
	if err := i18n.SetLoadTranslationsFunc(func() error { return nil }); err != nil {
		panic("kubectl's translations were asked for before they were turned off: " + err.Error())
	}
}
