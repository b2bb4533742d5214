package detect

// finder scans one text.
type finder struct {
	s       string
	field   Type
	matches []Match

	from    int               // end of the last match; nothing before it is examined again
	jwtFrom int               // no JSON web token begins before this offset
	members map[string]member // by name
	object  object            // the last one

	keyID int // end of the last AWS key id, which is often followed by its secret
}
