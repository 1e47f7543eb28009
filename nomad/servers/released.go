package servers

import (
	"archive/zip"
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
)

// makers is where HashiCorp publishes its releases: <server>/<version>/<file>.
const makers = "https://releases.hashicorp.com"

const (
	maxSums    = 1 << 20 // bytes of a list of checksums
	maxProgram = 1 << 30 // bytes of an archive, and of the program in it
)

// platform is this machine's in the names of released archives.
func platform() string { return runtime.GOOS + "_" + runtime.GOARCH }

// archiveName is the maker's name of an archive: "nomad_1.11.2_linux_amd64.zip".
func (p Pin) archiveName() string { return p.Name + "_" + p.Version + "_" + platform() + ".zip" }

// sumsName is the maker's name of the list of checksums of a release.
func sumsName(server, version string) string { return server + "_" + version + "_SHA256SUMS" }

// files are the addresses of what somebody has to download: the archive, and the list of its checksum unless this program has the
// checksum itself. There are none for servers whose makers publish no such archives.
func (p Pin) files(mirror string) []string {
	if !p.Released {
		return nil
	}
	folder := strings.TrimSuffix(cmp.Or(mirror, makers), "/") + "/" + p.Name + "/" + p.Version + "/"
	addresses := []string{folder + p.archiveName()}
	if p.Sums[p.archiveName()] == "" {
		addresses = append(addresses, folder+sumsName(p.Name, p.Version))
	}
	return addresses
}

// A release is an archive of a server: its version and its platform, from the maker's name of it, and its checksum once it is verified.
type release struct{ version, platform, sum string }

var releaseName = regexp.MustCompile(`^([a-z-]+)_(\d+\.\d+\.\d+(?:[+-][0-9A-Za-z.+-]+)?)_([a-z0-9]+_[a-z0-9]+)\.zip$`)

// releaseOf reads the name of an archive of a server.
func releaseOf(server, name string) (release, bool) {
	m := releaseName.FindStringSubmatch(name)
	if m == nil || m[1] != server {
		return release{}, false
	}
	return release{version: m[2], platform: m[3]}, true
}

// sums are checksums of archives by their names.
type sums map[string]string

var sumLine = regexp.MustCompile(`^([0-9a-fA-F]{64}) [ *](\S+)$`)

// readSums reads a list of checksums as sha256sum writes it. Lines of another form are no checksums.
func readSums(r io.Reader) (sums, error) {
	all := sums{}
	lines := bufio.NewScanner(io.LimitReader(r, maxSums))
	for lines.Scan() {
		if m := sumLine.FindStringSubmatch(strings.TrimSpace(lines.Text())); m != nil {
			all[m[2]] = strings.ToLower(m[1])
		}
	}
	return all, lines.Err()
}

// errUnverified is of an archive about which no checksum is known.
var errUnverified = errors.New("det has no checksum for it")

// sumsBeside are the known checksums of a server's archives: those of this program, and those of the lists in a folder. The program's
// own win.
func (p Pin) sumsBeside(folder string) (sums, error) {
	all := sums{}
	lists, err := filepath.Glob(filepath.Join(escapeGlob(folder), p.Name+"_*_SHA256SUMS"))
	if err != nil {
		return nil, err
	}
	for _, list := range lists {
		f, err := os.Open(list)
		if err != nil {
			return nil, err
		}
		some, err := readSums(f)
		f.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", list, err)
		}
		for name, sum := range some {
			all[name] = sum
		}
	}
	for name, sum := range p.Sums {
		all[name] = sum
	}
	return all, nil
}

var globMeta = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)

// escapeGlob makes a folder a pattern of itself.
func escapeGlob(folder string) string { return globMeta.Replace(folder) }

// verify returns the release of an archive, which known lists under its checksum. The archive may have another name than its maker's.
func (p Pin) verify(file string, known sums) (release, error) {
	sum, err := sha256Of(file)
	if err != nil {
		return release{}, err
	}
	for name, listed := range known {
		found, ok := releaseOf(p.Name, name)
		if !ok || listed != sum {
			continue
		}
		if found.platform != platform() {
			return release{}, fmt.Errorf("%s is %s for %s, and this machine is %s", file, p.Title, found.platform, platform())
		}
		found.sum = sum
		return found, nil
	}
	base := filepath.Base(file)
	if listed := known[base]; listed != "" {
		return release{}, fmt.Errorf("%w; remove it, and download it again", &WrongSumError{File: file, Found: sum, Want: listed})
	}
	version := p.Version
	if named, ok := releaseOf(p.Name, base); ok {
		version = named.version
	}
	return release{}, fmt.Errorf("%s is not used, because %w: download %s into the same folder", file, errUnverified, sumsName(p.Name, version))
}

// WrongSumError is of a file, or of an address, with another checksum than its maker's.
type WrongSumError struct{ File, Found, Want string }

func (e *WrongSumError) Error() string {
	return fmt.Sprintf("%s is not the file that its maker published: its SHA-256 is %s, and must be %s", e.File, e.Found, e.Want)
}

func sha256Of(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, f); err != nil {
		return "", fmt.Errorf("cannot read %s: %w", file, err)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// isArchive reports whether a file is a zip archive, whatever its name.
func isArchive(file string) (bool, error) {
	f, err := os.Open(file)
	if err != nil {
		return false, err
	}
	defer f.Close()
	head := make([]byte, 4)
	_, err = io.ReadFull(f, head)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return false, nil
	}
	return string(head) == "PK\x03\x04", err
}

// unpacked is the path of a released server's program in the cache.
func (p Pin) unpacked(r release) (string, error) {
	cache, err := CacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(cache, "servers", "released", p.Name+"_"+r.version+"_"+r.platform, p.Name), nil
}

// sumOf is the file with the checksum of the archive from which a program in the cache comes.
func sumOf(path string) string { return filepath.Dir(path) + ".sum" }

// isOf reports whether a program in the cache comes from an archive. Another one of the same version, verified with another list, may
// have been unpacked before: it is not what the archive at hand was verified for.
func isOf(path string, r release) bool {
	sum, err := os.ReadFile(sumOf(path))
	return err == nil && string(sum) == r.sum && exists(path)
}

// unpack takes the program out of a verified archive, once.
func (p Pin) unpack(ctx context.Context, file string, r release, report *Reporter) (string, error) {
	path, err := p.unpacked(r)
	if err != nil {
		return "", err
	}
	return path, Once(ctx, path, Part{
		Lock: filepath.Dir(path) + ".lock", There: func() bool { return isOf(path, r) }, Waiting: "unpacking " + p.Title,
		Making: fmt.Sprintf("unpacking %s %s", p.Title, r.version),
		Make:   func(context.Context, *Task) error { return p.extract(file, path, r.sum) },
	}, report)
}

// extract writes the program of an archive beside path, renames it when it is complete, and notes the archive's checksum.
func (p Pin) extract(file, path, sum string) error {
	archive, err := zip.OpenReader(file)
	if err != nil {
		return fmt.Errorf("cannot read %s: %w", file, err)
	}
	defer archive.Close()
	for _, entry := range archive.File {
		if entry.Name != p.Name || !entry.Mode().IsRegular() {
			continue
		}
		if entry.UncompressedSize64 > maxProgram {
			return fmt.Errorf("%s: the program in it has %d bytes, and may have %d", file, entry.UncompressedSize64, maxProgram)
		}
		in, err := entry.Open()
		if err != nil {
			return fmt.Errorf("cannot read %s: %w", file, err)
		}
		defer in.Close()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		out, err := os.CreateTemp(filepath.Dir(path), ".new-*")
		if err != nil {
			return err
		}
		defer os.Remove(out.Name())
		_, err = io.Copy(out, io.LimitReader(in, maxProgram))
		if err := errors.Join(err, out.Chmod(0o755), out.Close()); err != nil {
			return fmt.Errorf("cannot unpack %s: %w", file, err)
		}
		if err := os.Rename(out.Name(), path); err != nil {
			return err
		}
		return os.WriteFile(sumOf(path), []byte(sum), 0o600)
	}
	return fmt.Errorf("%s has no program %q in it", file, p.Name)
}
