//go:build !cgo || !linux

package nvidia

import (
	"errors"

	"github.com/detent-ml/detent/plugins/gpu/gpus"
)

// Linked reports whether this program can use NVIDIA's library.
const Linked = false

// Open returns an error, because this program was built without NVIDIA's library.
func Open() (gpus.Source, error) {
	return nil, errors.New("this det-gpu was built without cgo, so it supports simulated GPUs only; build it on Linux with a C compiler")
}
