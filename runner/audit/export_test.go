package audit

// Die leaves the log as the death of its process does.
func (l *Log) Die() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.later.stop()
	l.publish.stop()
	if l.ahead != nil {
		for _, f := range l.ahead.files {
			_ = f.Close()
		}
		l.ahead.unlock()
	}
}

// EncodeBody returns a body in canonical form.
func EncodeBody(body any) (string, error) {
	v, err := encodeBody(body)
	return string(v), err
}
