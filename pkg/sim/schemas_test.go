package sim

import (
	"bytes"
	"compress/gzip"
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/applyconfigurations"
	"sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

var rewrite = flag.Bool("rewrite", false, "write the schemas that client-go has now")

// TestSchemas holds schemas.yaml.gz against client-go's schemas: it has the
// tracked kinds, all types they are made of, and nothing else.
func TestSchemas(t *testing.T) {
	scheme, _ := typesOnce()
	want := clientGoSchemas(t, scheme)
	wantText, err := yaml.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := unpack(schemas)
	if *rewrite && (err != nil || !bytes.Equal(got, wantText)) {
		// Only then: another release of Go may pack the same text into other bytes.
		writeSchemas(t, wantText)
		got, err = wantText, nil
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(wantText), string(got)); diff != "" {
		t.Fatalf("schemas.yaml.gz is not what client-go has: go test ./pkg/sim -run TestSchemas -args -rewrite\n%s", diff)
	}
	parser, err := typed.NewParser(typed.YAMLObject(got))
	if err != nil {
		t.Fatal(err)
	}
	// Schema.Equals compares pointers in places.
	if diff := cmp.Diff(want, &parser.Schema, cmpopts.IgnoreUnexported(schema.Schema{}, schema.Map{})); diff != "" {
		t.Errorf("the text reads as other schemas than those it was made of (-want +got):\n%s", diff)
	}
}

// clientGoSchemas are client-go's of the tracked kinds and of all types these refer to.
func clientGoSchemas(t *testing.T, scheme *runtime.Scheme) *schema.Schema {
	t.Helper()
	c := closure{types: map[string]bool{}}
	for _, k := range kinds {
		if !scheme.Recognizes(k.gvk) {
			continue
		}
		obj := k.fresh()
		obj.GetObjectKind().SetGroupVersionKind(k.gvk)
		value, err := applyconfigurations.NewTypeConverter(scheme).ObjectToTyped(obj)
		if err != nil {
			t.Fatal(err)
		}
		c.all = value.Schema()
		c.ref(value.TypeRef())
	}
	out := &schema.Schema{}
	for _, def := range c.all.Types {
		if c.types[def.Name] {
			out.Types = append(out.Types, def)
		}
	}
	return out
}

// closure collects the names of types that are referred to.
type closure struct {
	all   *schema.Schema
	types map[string]bool
}

func (c closure) ref(r schema.TypeRef) {
	if r.NamedType == nil {
		c.atom(r.Inlined)
		return
	}
	if c.types[*r.NamedType] {
		return
	}
	c.types[*r.NamedType] = true
	if def, ok := c.all.FindNamedType(*r.NamedType); ok {
		c.atom(def.Atom)
	}
}

func (c closure) atom(a schema.Atom) {
	if a.List != nil {
		c.ref(a.List.ElementType)
	}
	if a.Map != nil {
		for _, field := range a.Map.Fields {
			c.ref(field.Type)
		}
		c.ref(a.Map.ElementType)
	}
}

func writeSchemas(t *testing.T, text []byte) {
	t.Helper()
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Write(text)
	if err == nil {
		err = w.Close()
	}
	if err == nil {
		err = os.WriteFile("schemas.yaml.gz", packed.Bytes(), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}
