// The sentence of part 7, and what each of its tokens looks for: "it@cat" looks for the nearest "cat".

const marked = {
  en:
    'the@cat cat@climbed climbed@cat the@tree tree@climbed because@wanted it@cat wanted@it the@bird bird@wanted ' +
    ',@because but@flew the@bird bird@flew flew@bird away@flew before@reached it@cat reached@it the@branch ' +
    'branch@reached where@branch it@bird sang@it .@sang so@sat the@cat cat@sat sat@cat down@sat ,@sat looked@cat ' +
    'at@looked the@sky sky@looked ,@looked and@waited waited@cat ;@waited in@evening the@evening evening@came the@bird ' +
    'bird@came came@bird back@came to@branch its@bird branch@came ,@came sang@bird once@sang more@once ,@sang and@cat ' +
    'the@cat cat@stayed ,@cat who@cat had@learned learned@who stayed@cat on@grass grass@stayed',
  pt:
    'o@gato gato@subiu subiu@gato na@árvore árvore@subiu porque@queria ele@gato queria@ele o@pássaro pássaro@queria ' +
    ',@porque mas@voou o@pássaro pássaro@voou voou@pássaro embora@voou antes@chegasse que@antes ele@gato chegasse@ele ' +
    'ao@galho galho@chegasse onde@galho cantava@pássaro .@cantava então@sentou o@gato gato@sentou sentou@gato -se@sentou ' +
    ',@sentou olhou@gato para@olhou o@céu céu@olhou ,@olhou e@esperou esperou@gato ;@esperou à@noite noite@voltou ' +
    'o@pássaro pássaro@voltou voltou@pássaro ao@galho seu@pássaro galho@voltou ,@voltou cantou@pássaro mais@vez uma@vez ' +
    'vez@cantou ,@cantou e@gato o@gato gato@ficou ,@gato que@gato já@tinha tinha@aprendido aprendido@que ficou@gato ' +
    'na@grama grama@ficou',
} as const;

export interface Sentence {
  readonly tokens: readonly string[];
  readonly targets: readonly number[];
}

/** The index of `word` that is nearest to `from`; `from` itself if there is none. */
function nearest(words: readonly string[], word: string, from: number): number {
  let best = -1;
  words.forEach((one, index) => {
    if (one === word && (best < 0 || Math.abs(index - from) < Math.abs(best - from))) best = index;
  });
  return best < 0 ? from : best;
}

/** The first `count` tokens; a target that is cut off is replaced by the token itself. */
export function sentence(language: 'en' | 'pt', count: number): Sentence {
  const pairs = marked[language].split(' ').slice(0, count).map((pair) => pair.split('@'));
  const tokens = pairs.map(([token = '']) => token);
  return { tokens, targets: pairs.map(([, target = ''], index) => nearest(tokens, target, index)) };
}

export const LONGEST = 64;
