package expconf

import "reflect"

// completed returns a section with its defaults and those of its parts.
func completed[T any](section T) T {
	fill(reflect.ValueOf(&section).Elem())
	return section
}

// fill sets the defaults of the fields of v, and of its sections, that no document sets. It
// copies what v shares with a Raw first.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return
		}
		own := reflect.New(v.Type().Elem())
		own.Elem().Set(v.Elem())
		fill(own.Elem())
		v.Set(own)
	case reflect.Slice:
		if v.IsNil() {
			return
		}
		own := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(own, v)
		for i := range own.Len() {
			fill(own.Index(i))
		}
		v.Set(own)
	case reflect.Struct:
		s := sectionOf(v.Type())
		for i := range s.fields {
			f := &s.fields[i]
			if f.standard.IsValid() && !f.said(v) {
				v.Field(f.index).Set(fresh(f.standard))
			}
			if f.part.fills {
				fill(v.Field(f.index))
			}
		}
		if s.marked {
			*marksOf(v) = written{} // only a Raw needs the marks
		}
	}
}

// fresh returns a copy of a default, so that no caller can change the default.
func fresh(standard reflect.Value) reflect.Value {
	switch t := standard.Type(); t.Kind() {
	case reflect.Pointer:
		own := reflect.New(t.Elem())
		own.Elem().Set(standard.Elem())
		return own
	case reflect.Slice:
		return reflect.AppendSlice(reflect.MakeSlice(t, 0, standard.Len()), standard)
	case reflect.Map:
		return reflect.MakeMap(t) // the only default of a map is {}
	}
	return standard
}
