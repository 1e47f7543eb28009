package tfevents

import "github.com/detent-ml/detent/cli/internal/wire"

// maxHParams bounds the hyperparameters of a session.
const maxHParams = 10_000

// session reads the hyperparameters of a session as TensorBoard's plugin stores them: numbers, texts and truth values by their names.
func (f *file) session(content []byte) error {
	const startInfo, hparams, key, value = 3, 1, 1, 2
	found := map[string]any{}
	err := wire.Each(content, func(x wire.Field) error {
		if x.Number != startInfo {
			return nil
		}
		return wire.Each(x.Text, func(y wire.Field) error {
			if y.Number != hparams || len(found) >= maxHParams {
				return nil
			}
			name, is := "", any(nil)
			err := wire.Each(y.Text, func(z wire.Field) (err error) {
				switch z.Number {
				case key:
					name = string(z.Text)
				case value:
					is, err = hparam(z.Text)
				}
				return err
			})
			if name != "" && is != nil {
				found[name] = is
			}
			return err
		})
	})
	if err == nil && len(found) > 0 {
		f.HParams(found)
	}
	return err
}

// hparam is a value of google.protobuf.Value: a number, a text or a truth value; nil for others.
func hparam(message []byte) (v any, err error) {
	const number, text, truth = 2, 3, 4
	err = wire.Each(message, func(x wire.Field) error {
		switch x.Number {
		case number:
			v = x.Float()
		case text:
			v = string(x.Text)
		case truth:
			v = x.True()
		}
		return nil
	})
	return v, err
}
