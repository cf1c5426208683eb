// A text with its subscripts below the line: "√d_k". Who listens or copies gets the text as it is written.

export function Subscripts({ text }: { readonly text: string }) {
  const parts = text.split(/_(\p{L})/u);
  if (parts.length === 1) return <>{text}</>;
  return (
    <>
      {parts.map((part, at) =>
        at % 2 === 0 ? (
          part
        ) : (
          <>
            <span class="subscript-mark">_</span>
            <sub>{part}</sub>
          </>
        ),
      )}
    </>
  );
}
