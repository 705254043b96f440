package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// MaxFile is the largest file or stream that is read, in bytes. MaxDump is that
// of a dump: 150,000 pods, the most that Kubernetes supports, are a good part of it.
const (
	MaxFile = 64 << 20
	MaxDump = 1792 << 20
)

// Reader reads inputs as kubectl's -f does.
type Reader struct {
	Stdin     io.Reader // for "-"
	Recursive bool      // directories are walked to the bottom
	Mode      Mode
	// Events reads Kubernetes Events too, which tell of the past and have no
	// part in what happens next.
	Events bool
	// Each does n things, perhaps side by side, and returns when all are done;
	// nil means one after the other. The result is the same.
	Each func(n int, do func(i int))
}

// extensions are the files of a directory that are read, as kubectl does.
var extensions = []string{".json", ".yaml", ".yml"}

// Read reads files, directories, glob patterns and "-", in the order given;
// the files of a directory in the order of their names.
func (r Reader) Read(paths ...string) (*Set, error) {
	set := &Set{}
	stdinRead := false
	for _, path := range paths {
		var part *Set
		var err error
		switch {
		case path == "-" && stdinRead:
			return nil, errors.New("standard input can be read only once: pass -f - a single time")
		case path == "-":
			stdinRead = true
			part, err = r.stream("standard input", r.Stdin)
		case strings.HasPrefix(path, "http://"), strings.HasPrefix(path, "https://"):
			return nil, fmt.Errorf("%s: addresses are not fetched: download the file, or pipe it into -f -", Printable(path))
		default:
			part, err = r.path(path)
		}
		if err != nil {
			return nil, err
		}
		if len(part.Items) == 0 && len(part.ignored) == 0 {
			return nil, Source{File: path}.errorf("there is no object in it")
		}
		set.Append(part)
	}
	return set, nil
}

func (r Reader) path(path string) (*Set, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return r.pattern(path)
	}
	if err != nil {
		return nil, failure(path, err)
	}
	if info.IsDir() {
		return r.directory(path)
	}
	return r.file(path)
}

// pattern reads the files that match a glob pattern, which kubectl expands too
// when the shell has not.
func (r Reader) pattern(path string) (*Set, error) {
	matches, err := filepath.Glob(path)
	if err != nil || len(matches) == 0 {
		return nil, fmt.Errorf("the path %q does not exist", path)
	}
	set := &Set{}
	for _, match := range matches {
		part, err := r.file(match)
		if err != nil {
			return nil, err
		}
		set.Append(part)
	}
	return set, nil
}

func (r Reader) directory(dir string) (*Set, error) {
	set, files := &Set{}, 0
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return failure(path, err)
		}
		if entry.IsDir() {
			if path != dir && !r.Recursive {
				return fs.SkipDir
			}
			return nil
		}
		if !slices.Contains(extensions, filepath.Ext(path)) {
			return nil
		}
		files++
		part, err := r.file(path)
		if err != nil {
			return err
		}
		set.Append(part)
		return nil
	})
	if err == nil && files == 0 {
		return nil, fmt.Errorf("error reading [%s]: recognized file extensions are [.json .yaml .yml]", Printable(dir))
	}
	return set, err
}

func (r Reader) file(path string) (*Set, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, failure(path, err)
	}
	defer file.Close()
	return r.stream(path, file)
}

func (r Reader) stream(name string, in io.Reader) (*Set, error) {
	limit, instead := int64(MaxFile), "split it into several files"
	if r.Mode == Lenient {
		limit, instead = MaxDump, "save what the plan needs alone, as kubectl rollout-sim capture does"
	}
	tooLarge := Source{File: name}.errorf("this is larger than %d MiB: %s", limit>>20, instead)
	var data bytes.Buffer
	if file, ok := in.(*os.File); ok {
		if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
			if info.Size() > limit {
				return nil, tooLarge
			}
			if set, err := r.byItem(name, file, info.Size()); err == nil || !errors.Is(err, errUsual) {
				return set, err
			}
			data.Grow(int(info.Size()) + bytes.MinRead + 1) // rather than twice as much on the way
		}
	}
	if _, err := data.ReadFrom(io.LimitReader(in, limit+1)); err != nil {
		return nil, failure(name, err)
	}
	if int64(data.Len()) > limit {
		return nil, tooLarge
	}
	return r.decode(name, data.Bytes())
}

// byItem decodes a large dump item by item; errUsual where that cannot be.
func (r Reader) byItem(name string, file *os.File, size int64) (*Set, error) {
	if r.Mode != Lenient || size <= windowSize {
		return nil, errUsual
	}
	set, err := r.streamList(name, file, windowSize)
	if errors.Is(err, errUsual) {
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return nil, failure(name, err)
		}
	} else if err != nil {
		err = failure(name, err)
	}
	return set, err
}

// Kustomize builds a kustomization directory, as kubectl -k does, and reads
// the result. Bases outside the directory may be used; plugins may not.
func Kustomize(dir string) (*Set, error) {
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return nil, Source{File: dir}.errorf("cannot build this kustomization: %v", err)
	}
	data, err := built.AsYaml()
	if err != nil {
		return nil, Source{File: dir}.errorf("cannot print this kustomization: %v", err)
	}
	return Decode(dir+" (as built)", data, Strict)
}

// failure is an operating system's error without the repetition of the path.
func failure(path string, err error) error {
	var inner *fs.PathError
	if errors.As(err, &inner) {
		err = inner.Err
	}
	return Source{File: path}.errorf("%v", err)
}
