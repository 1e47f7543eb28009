package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
)

// A Supply is where a machine has its servers, and may get them from. Find looks, Fetch downloads; both leave the servers where they are, or
// unpack them into the cache.
type Supply struct {
	// Files are programs, or their makers' archives, by the name of the server: somebody has named them.
	Files map[string]string
	// Folder is where somebody has put such files, under their makers' names; "": nowhere.
	Folder string
	// Downloads: whoever calls Find downloads what is missing with Fetch, also where this machine could build it.
	Downloads bool
	// Mirror is the address from which Fetch downloads, in place of the makers' own; below it files have the same paths.
	Mirror string
}

// Missing is something that a cluster needs and this machine lacks.
type Missing struct {
	Name   string // of the server
	Title  string
	Oldest string // version that would do
	// Files are the addresses of the files that somebody can download; none if the maker publishes none that det can use.
	Files []string
	// Seen is what was found and is not used, with the reasons.
	Seen []string
}

// Find finds servers without downloading or building anything. A server that it does not find is missing, unless this machine can build
// it, as Ensure does, and it is not to be downloaded. Find returns an error for a file that cannot be right: one that somebody has named, and one whose checksum is
// wrong.
func (s Supply) Find(ctx context.Context, names []string, report *Reporter) (found map[string]Binary, missing []Missing, err error) {
	found = map[string]Binary{}
	var wrong []error
	for _, name := range names {
		pin, err := pinOf(name)
		if err != nil {
			return nil, nil, err
		}
		binary, seen, err := s.look(ctx, pin, report)
		switch {
		case err != nil:
			wrong = append(wrong, err)
		case binary.Path != "":
			found[name] = binary
			for _, what := range seen {
				report.Say("%s", what)
			}
		case !canBuild() || s.Downloads && pin.Released:
			missing = append(missing, Missing{Name: pin.Name, Title: pin.Title, Oldest: pin.Oldest, Files: pin.files(s.Mirror), Seen: seen})
		}
	}
	return found, missing, errors.Join(wrong...)
}

// canBuild reports whether this machine has the tool with which Ensure builds servers.
func canBuild() bool {
	_, err := exec.LookPath("go")
	return err == nil
}

// look tries the places of one server in their order. seen is what it has passed over.
func (s Supply) look(ctx context.Context, pin Pin, report *Reporter) (binary Binary, seen []string, err error) {
	if file := s.Files[pin.Name]; file != "" {
		binary, err := pin.use(ctx, file, report)
		return binary, nil, err
	}
	for _, file := range s.inFolder(pin) {
		binary, err := pin.use(ctx, file, report)
		if _, wrong := errors.AsType[*WrongSumError](err); wrong || ctx.Err() != nil {
			return Binary{}, nil, err
		}
		if err == nil {
			return binary, seen, nil
		}
		seen = append(seen, err.Error())
	}
	if path, ok := pin.onPath(); ok {
		binary, err := pin.program(ctx, path)
		if err == nil {
			return binary, seen, nil
		}
		seen = append(seen, err.Error())
	}
	if binary, ok := pin.kept(ctx); ok {
		return binary, seen, nil
	}
	b, err := newBuilder()
	if err != nil {
		return Binary{}, nil, err
	}
	if path := b.binary(pin); exists(path) {
		return Binary{Name: pin.Name, Path: path, Version: pin.Version}, seen, nil
	}
	return Binary{}, seen, nil
}

// inFolder are the files in the supply's folder that are a server by their names, the newest first.
func (s Supply) inFolder(pin Pin) []string {
	if s.Folder == "" {
		return nil
	}
	files, _ := filepath.Glob(filepath.Join(escapeGlob(s.Folder), pin.Name+"_*_"+platform()+".zip")) // its pattern is right
	files = slices.DeleteFunc(files, func(file string) bool {
		_, ok := releaseOf(pin.Name, filepath.Base(file))
		return !ok
	})
	slices.SortFunc(files, func(a, b string) int { return compareVersions(numbers(b), numbers(a)) })
	program := filepath.Join(s.Folder, pin.Name)
	if info, err := os.Stat(program); err == nil && info.Mode().IsRegular() {
		files = append(files, program)
	}
	return files
}

var versionNumbers = regexp.MustCompile(`\d+\.\d+\.\d+`)

// numbers is the version in a path that contains one, without what follows its numbers.
func numbers(path string) string { return versionNumbers.FindString(filepath.Base(path)) }

// use makes a file usable: a program, or an archive that is verified and unpacked.
func (p Pin) use(ctx context.Context, file string, report *Reporter) (Binary, error) {
	file, err := filepath.Abs(file)
	if err != nil {
		return Binary{}, err
	}
	archive, err := isArchive(file)
	if err != nil {
		return Binary{}, fmt.Errorf("cannot read %s for %s: %w", file, p.Title, err)
	}
	if !archive {
		if _, err := exec.LookPath(file); err != nil {
			return Binary{}, fmt.Errorf("%s is neither a program that you may execute nor a zip archive of %s", file, p.Title)
		}
		return p.program(ctx, file)
	}
	known, err := p.sumsBeside(filepath.Dir(file))
	if err != nil {
		return Binary{}, err
	}
	released, err := p.verify(file, known)
	if err != nil {
		return Binary{}, err
	}
	if compareVersions(numbers(released.version), p.Oldest) < 0 {
		return Binary{}, p.tooOld(file, released.version)
	}
	path, err := p.unpack(ctx, file, released, report)
	if err != nil {
		return Binary{}, err
	}
	return p.program(ctx, path)
}

// kept is the newest program that an earlier call has unpacked into the cache.
func (p Pin) kept(ctx context.Context) (Binary, bool) {
	cache, err := CacheDir()
	if err != nil {
		return Binary{}, false
	}
	paths, _ := filepath.Glob(filepath.Join(escapeGlob(cache), "servers", "released", p.Name+"_*_"+platform(), p.Name)) // its pattern is right
	slices.SortFunc(paths, func(a, b string) int {
		return compareVersions(numbers(filepath.Dir(b)), numbers(filepath.Dir(a)))
	})
	for _, path := range paths {
		if binary, err := p.program(ctx, path); err == nil {
			return binary, true
		}
	}
	return Binary{}, false
}
