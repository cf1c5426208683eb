// The parts of the lesson, in order. Numbers are those of the lesson: a part that is hidden leaves a gap.
import type { ComponentType } from 'preact';
import type { Messages } from '../messages';
import { BackwardPart } from './backward';
import { BankPart } from './bank';
import { CodePart } from './code';
import { DictionaryPart } from './dictionary';
import { MatrixPart } from './matrix';
import { OwnPart } from './own';
import { ProjectionsPart } from './projections';
import { RunningPart } from './running';
import { ShapesPart } from './shapes';

export interface Part {
  readonly name: string; // in the address and of its properties
  readonly number: number;
  readonly title: (messages: Messages) => string;
  readonly View: ComponentType<{ number: number }>;
}

export const parts: readonly Part[] = [
  { name: 'dictionary', number: 1, title: (m) => m.dictionary.title, View: DictionaryPart },
  { name: 'projections', number: 2, title: (m) => m.projections.title, View: ProjectionsPart },
  { name: 'bank', number: 3, title: (m) => m.bank.title, View: BankPart },
  { name: 'code', number: 4, title: (m) => m.code.title, View: CodePart },
  { name: 'running', number: 5, title: (m) => m.running.title, View: RunningPart },
  { name: 'shapes', number: 6, title: (m) => m.shapes.title, View: ShapesPart },
  { name: 'matrix', number: 7, title: (m) => m.matrix.title, View: MatrixPart },
  { name: 'backward', number: 8, title: (m) => m.backward.title, View: BackwardPart },
  { name: 'own', number: 9, title: (m) => m.own.title, View: OwnPart },
];
