package pii

import "testing"

func TestMask(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		// e-mail
		{"write to alice@example.com, or bob.o'neil+x@mail.example.co.uk.", "write to [EMAIL_1], or [EMAIL_2]."},
		{"<alice@example.com> 'bob@x.io' mailto:a_b@x-y.dev?subject=1", "<[EMAIL_1]> '[EMAIL_2]' mailto:[EMAIL_3]?subject=1"},
		{"alice@example.com ALICE alice@example.com", "[EMAIL_1] ALICE [EMAIL_1]"},
		{"jürgen@müller.de 用户@例子.中国 root@db.internal", "[EMAIL_1] [EMAIL_2] [EMAIL_3]"},
		{"logo@2x.png react@18.2.0 @scope/pkg a@b user@host git@github.com:o/r.git .@x.com a..b@x.com @decorator()", ""},
		{"array[i]@file.rst x@-y.com x@y-.com a@b.c", ""},
		// phone
		{"call +1 212-555-0123 or (212) 555-0123, 212.555.0124", "call [PHONE_1] or [PHONE_2], [PHONE_3]"},
		{"+49 30 901820, +44 (0)20 7946 0958, +33 1 23 45 67 89, 01 23 45 67 89", "[PHONE_1], [PHONE_2], [PHONE_3], [PHONE_4]"},
		{"+919876543210 +5511987654321 +8613912345678 1-800-555-0199", "[PHONE_1] [PHONE_2] [PHONE_3] [PHONE_4]"},
		{"phone: 2125550123, tel 030 901820; mobile number is 07700 900123", "phone: [PHONE_1], tel [PHONE_2]; mobile number is [PHONE_3]"},
		{"+1 212 555 0123 100 items", "[PHONE_1] 100 items"},
		{"+1 112 555 0123, +999 123456789, 2125550123, 112-555-0123, 911-555-0123, 1+2345678901", ""},
		{"2024-01-15 10:30:00.123456 1700000000000 550e8400-e29b-41d4-a716-446655440000 3.14159265358979 1,234,567,890", ""},
		{"order 12-345-6789-0, part 100-200-3000, $212-555-0123, 10 000 000 EUR, 192 168 0 1", ""},
		// social security numbers
		{"SSN 536-22-8726; 536 22 8727; ssn: 536228728", "SSN [SSN_1]; [SSN_2]; ssn: [SSN_3]"},
		{"000-12-3456 666-12-3456 900-12-3456 536-00-8726 536-22-0000 078-05-1120 536228726 1536-22-8726 536-22-87261", ""},
		// payment cards
		{"4111111111111111 4111 1111 1111 1111 5500-0000-0000-0004 378282246310005 3782 822463 10005", "[CARD_1] [CARD_2] [CARD_3] [CARD_4] [CARD_5]"},
		{"6011000990139424 30569309025904 3530111333300000 6200000000000005 2223003122003222", "[CARD_1] [CARD_2] [CARD_3] [CARD_4] [CARD_5]"},
		{"4111 1111 1111 1111 12/27 123", "[CARD_1] 12/27 123"},
		{"4111111111111112 1234567890123452 4111-1111 1111-1111 0000000000000000 94111111111111111 4111111111111111a 0.4111111111111111", ""},
		{"1700000000000 1700000000000000 1234567890123456789 9007199254740993", ""},
		{"call +1 212-555-0123 ext. 7 or (212) 555-0124 x22; reach Tim at 2125550125 or 2125550126", "call [PHONE_1] or [PHONE_2]; reach Tim at [PHONE_3] or [PHONE_4]"},
		{"Telefon: 030/1234567, 手机：13812345678, T: 2125550123, phone 2024-01-15, order 5551234567", "Telefon: [PHONE_1], 手机：[PHONE_2], T: [PHONE_3], phone 2024-01-15, order 5551234567"},
		{"50 4b 03 04 14 00 00 00 08 00 F: 1.000000 fax 127.000.000.001 +35236450.6", ""},
		// addresses of machines
		{"ping 1.2.3.4, from 203.0.113.7 to 2.3.4.5:80", "ping [IP_1], from [IP_2] to [IP_3]:80"},
		{"foo==1.2.3.4 org.example:name:1.2.3.4 <Version>1.2.3.4</Version> versions 1.2.3.4, 1.2.3.5 and 1.2.4.0 255.255.255.0", ""},
		{"2001:db8::192.0.2.1 64:ff9b::192.0.2.1 ::ffff:192.0.2.1", "[IP_1] [IP_2] [IP_3]"},
		{"from 203.0.113.7:8080, http://10.1.2.3/x 192.168.0.0/24.", "from [IP_1]:8080, http://[IP_2]/x [IP_3]/24."},
		{"2001:db8::1, [fe80::1%eth0] 2001:0db8:85a3:0000:0000:8a2e:0370:7334", "[IP_1], [[IP_2]%eth0] [IP_3]"},
		{"127.0.0.1 0.0.0.0 256.1.1.1 1.2.3 1.2.3.4.5 Chrome/120.0.0.0 version 1.2.3.4 v1.2.3.4 01.2.3.4 255.255.255.255", ""},
		{"::1 std::vec a::b 12:34:56 de:ad:be:ef 00:1b:44:11:3a:b7 abc::def::1", ""},
		// logins and ids of messages
		{"ssh -p 22 me@host.example.com, me@host.example.com:/x https://me@host.example.com http://user:pass@host.example.com", ""},
		{"Message-ID: <1.2@mail.example.com>", ""},
		{`"first last"@example.com bounce+ann=example.com@lists.example.org`, "[EMAIL_1] [EMAIL_2]"},
		// passwords in addresses, and the masks of others
		{"postgres://app:s3cret@db.internal:5432/x", "postgres://app:[API_KEY_1]@db.internal:5432/x"},
		// account numbers
		{"DE89370400440532013000, GB82 WEST 1234 5698 7654 32. NL91ABNA0417164300 items", "[IBAN_1], [IBAN_2]. [IBAN_3] items"},
		{"DE89370400440532013001 GB82WEST12345698765432X XX89370400440532013000 DE8937040044 DE89  3704 0044 0532 0130 00", ""},
		// values of members and parameters
		{"https://x.com/p?api_key=abcdef0123&page=2&token=zz9zzzz#a", "https://x.com/p?api_key=[SECRET_1]&page=2&token=[SECRET_2]#a"},
		{"PASSWORD=hunter2x --password='correcthorse' GITHUB_TOKEN=abc123def= client-secret=\"a1b2c3d4\"", "PASSWORD=[SECRET_1] --password='[SECRET_2]' GITHUB_TOKEN=[SECRET_3] client-secret=\"[SECRET_4]\""},
		{"password=getPassword() token=self.token api_key=${KEY} password=password token==abcdef12 cookie=enabled", ""},
		{"pageToken=abc123def type=password token=[SECRET_1] key=abc123def secret=***** access_token=<your-token-1>", ""},
		{"https://user:${PASSWORD}@example.com https://x.com/@user [EMAIL_1] [CARD_2]", ""},
	} {
		want := tt.want
		if want == "" {
			want = tt.text
		}
		if got := Mask(tt.text); got != want {
			t.Errorf("Mask(%q)\n got %q\nwant %q", tt.text, got, want)
		}
		if got := Mask(want); got != want {
			t.Errorf("masking %q again gives %q", want, got)
		}
	}
}
