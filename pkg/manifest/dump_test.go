package manifest

import (
	"reflect"
	"strings"
	"testing"
)

// usual decodes a dump document by document, as anything but one JSON list is.
func usual(t *testing.T, data string) *Set {
	set := &Set{}
	for i, doc := range split([]byte(data)) {
		d := decoder{doc: doc, mode: Lenient, set: set, source: Source{File: "dump", Document: i + 1}}
		if err := d.run(); err != nil {
			t.Fatal(err)
		}
	}
	return set
}

// TestList takes lists apart as the usual way does, and leaves to it what is none.
func TestList(t *testing.T) {
	const pod = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a\"]},{","labels":{"kind":"x"}},"spec":{"containers":[{"name":"c"}]},"new":[1,{"a":null}]}`
	for name, test := range map[string]struct {
		data string
		fast bool
	}{
		"sorted as kubectl does": {`{"apiVersion":"v1","items":[` + pod + `,` + pod + `],"kind":"List","metadata":{"resourceVersion":""}}`, true},
		"spread over lines":      {"\n{\n \"kind\" : \"List\", \"apiVersion\":\t\"v1\",\r\n \"items\": [\n" + pod + "\n ,\n" + pod + "] }\n", true},
		"typed, without headers": {`{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"a"}}]}`, true},
		"ignored and unknown":    {`{"kind":"List","apiVersion":"v1","items":[{"apiVersion":"v1","kind":"Service","metadata":{"name":"a"}},{"apiVersion":"x/v1","kind":"Odd"}]}`, true},
		"a list in a list":       {`{"kind":"List","apiVersion":"v1","items":[{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"a"}}]}]}`, true},
		"empty":                  {`{"kind":"List","apiVersion":"v1","items":[]}`, true},
		"one object":             {pod, false},
		"two documents":          {`{"kind":"List","apiVersion":"v1","items":[` + pod + `]}{"kind":"List","apiVersion":"v1","items":[]}`, false},
		"YAML":                   {"kind: List\napiVersion: v1\nitems: []\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			got, fast, err := Reader{Mode: Lenient}.decodeList("dump", []byte(test.data))
			if err != nil || fast != test.fast {
				t.Fatalf("taken apart: %v (%v), want %v", fast, err, test.fast)
			}
			if !fast {
				return
			}
			want := usual(t, test.data)
			if !reflect.DeepEqual(got.Objects(), want.Objects()) || got.Ignored() != want.Ignored() {
				t.Errorf("%d objects, ignored %q; want %d, %q", len(got.Items), got.Ignored(), len(want.Items), want.Ignored())
			}
		})
	}
}

// TestListRefuses has every broken list end in an error, whichever way finds it.
func TestListRefuses(t *testing.T) {
	for data, want := range map[string]string{
		`{"kind":"List","apiVersion":"v1","items":[3]}`:                                                                         "items[0] is a number",
		`{"kind":"List","apiVersion":"v1","items":[{}]}`:                                                                        "kind is missing in items[0]",
		`{"kind":"List","apiVersion":"v1","items":[{"kind":"Pod","apiVersion":"v1","metadata":{"name":3}}]}`:                    "items[0].metadata.name",
		`{"kind":"List","apiVersion":"v1","items":[{"kind":"Pod","apiVersion":"v1","metadata":{}}]}`:                            "resource name may not be empty",
		`{"kind":"List","apiVersion":"v1","items":[{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"}],"x":{}}`:            "dump",
		`{"kind":"List","apiVersion":"v1","items":[{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"}}`:                    "dump",
		`{"kind":"List","apiVersion":"v1","items":[{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"}} {"kind":"Pod"}]}`:   "dump",
		`{"kind":"List","apiVersion":"v1","items":[{"kind":"Pod","apiVersion":"v1","metadata":{"generateName":"a-"}}]}`:         "cannot use generate name",
		`{"kind":"List","apiVersion":"v1","items":[{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"},"spec":{"x":}}]}`:    "dump",
		`{"kind":"List","apiVersion":"v1","items":[{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","labels":{"a":"b}}]}`: "dump",
	} {
		if _, err := Decode("dump", []byte(data), Lenient); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q in it", data, err, want)
		}
	}
}
